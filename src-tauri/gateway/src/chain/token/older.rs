//! Tokens of earlier forms, from before all backends shared one. A look continues from them as from any other.

use bitcoin::BlockHash;
use bitcoin::hashes::Hash as _;

use super::{BlockId, Token, Weighed, body, weighed};

/// The forms of Bitcoin Core, of Electrum and Esplora servers, and the first common one.
const OF_CORE: u8 = 1;
const OF_SERVERS: u8 = 2;
const OF_ALL: u8 = 3;

/// The form that added the height read by a node. In this form and in `OF_ALL` the work may be a node's unproved claim,
/// so only the blocks are used.
const OF_WORDS: u8 = 4;

/// Bytes of a block without its work.
const BLOCK: usize = 4 + 32;

/// `None` if it is no older token.
pub(super) fn read(token: &[u8]) -> Option<Token> {
    let (form, rest) = token.split_first()?;
    if *form == OF_WORDS {
        let mut token = body(rest)?;
        count_blocks(&mut token.blocks);
        token.most = token.blocks.last()?.work;
        return token.sound();
    }
    let (answer, rest) = rest.split_first_chunk()?;
    let answer = u128::from_be_bytes(*answer);
    match *form {
        OF_CORE => {
            let blocks = by_height(rest)?;
            // A node was asked for every block.
            let height = blocks.last()?.id.height;
            Some(Token { read_up_to: height, ..of(answer, height, blocks)? })
        }
        OF_SERVERS => match rest.strip_prefix(&[0; 32]) {
            // An Esplora token had zeros here instead of a block; no block's hash is zero.
            Some(_) => of(answer, 0, by_height(rest)?),
            None => of(answer, 0, weighed(rest)?),
        },
        OF_ALL => {
            let (_most, rest) = rest.split_first_chunk::<16>()?;
            let (whole_up_to, rest) = rest.split_first_chunk()?;
            let (round_from, rest) = rest.split_first_chunk()?;
            let mut blocks = weighed(rest)?;
            count_blocks(&mut blocks);
            // The form does not tell the height read by a node.
            let token = of(answer, u32::from_be_bytes(*whole_up_to), blocks)?;
            Some(Token { round_from: u32::from_be_bytes(*round_from), ..token })
        }
        _ => None,
    }
}

fn of(answer: u128, whole_up_to: u32, blocks: Vec<Weighed>) -> Option<Token> {
    let most = blocks.last()?.work;
    Token { answer, most, whole_up_to, read_up_to: 0, round_from: 0, blocks }.sound()
}

/// Counts the least possible work for each block, as the real work is unknown.
fn count_blocks(blocks: &mut [Weighed]) {
    let first = blocks.first().map_or(0, |first| first.id.height);
    blocks.iter_mut().for_each(|block| block.work = u128::from(block.id.height.saturating_sub(first)));
}

/// Blocks after one sum of their work, which says nothing about each.
fn by_height(bytes: &[u8]) -> Option<Vec<Weighed>> {
    let (_, bytes) = bytes.split_first_chunk::<32>()?;
    let mut blocks: Vec<Weighed> = Vec::new();
    for bytes in bytes.chunks(BLOCK) {
        let (height, hash) = bytes.split_first_chunk()?;
        let id = BlockId { height: u32::from_be_bytes(*height), hash: BlockHash::from_slice(hash).ok()? };
        blocks.push(Weighed { id, work: 0 });
    }
    count_blocks(&mut blocks);
    Some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(height: u32, work: u128) -> Weighed {
        Weighed { id: BlockId { height, hash: BlockHash::from_byte_array([height as u8; 32]) }, work }
    }

    /// Writes a token like earlier releases.
    fn written(form: u8, blocks: &[Weighed], work_of_all: Option<[u8; 32]>) -> Vec<u8> {
        let mut bytes = vec![form];
        bytes.extend(7u128.to_be_bytes());
        bytes.extend(work_of_all.into_iter().flatten());
        for Weighed { id, work } in blocks {
            bytes.extend(id.height.to_be_bytes());
            bytes.extend(id.hash.to_byte_array());
            if work_of_all.is_none() {
                bytes.extend(work.to_be_bytes());
            }
        }
        bytes
    }

    #[test]
    fn what_every_release_before_wrote_is_read_with_its_blocks() {
        let blocks = [at(5, 0), at(90, 170), at(91, 172)];
        let by_height = [at(5, 0), at(90, 85), at(91, 86)];
        for (what, bytes, blocks, whole_up_to) in [
            ("Core", written(1, &blocks, Some([3; 32])), by_height, 91),
            ("Core in the middle of a look", written(1, &blocks, Some([0; 32])), by_height, 91),
            ("Electrum", written(2, &blocks, None), blocks, 0),
            ("Esplora", written(2, &blocks, Some([0; 32])), by_height, 0),
        ] {
            let read = Token::read(&bytes).expect(what);
            assert_eq!((read.answer, read.blocks(), read.whole_up_to), (7, &blocks[..], whole_up_to), "{what}");
            assert_eq!(read.most, blocks[2].work, "{what}");
            assert_eq!(Token::read(&read.write()), Some(read), "{what}: it goes on as one of the new form");
        }
    }

    #[test]
    fn only_the_blocks_are_kept_of_forms_with_a_nodes_claim_of_work() {
        let blocks = [at(5, 0), at(90, u128::MAX >> 1), at(91, u128::MAX)];
        // The first common form does not tell the height read by a node.
        for (form, heights, read_up_to) in [(3, vec![91, 90], 0), (4, vec![91, 60, 90], 60)] {
            let mut bytes = vec![form];
            bytes.extend([7, u128::MAX].map(u128::to_be_bytes).concat());
            bytes.extend(heights.into_iter().flat_map(u32::to_be_bytes));
            bytes.extend(&written(form, &blocks, None)[17..]);
            let read = Token::read(&bytes).unwrap();
            assert_eq!((read.answer, read.most, read.blocks()), (7, 86, &[at(5, 0), at(90, 85), at(91, 86)][..]));
            assert_eq!((read.whole_up_to, read.read_up_to, read.round_from), (91, read_up_to, 90));
        }
    }

    #[test]
    fn what_is_no_token_of_theirs_is_none() {
        for bytes in [vec![], vec![1], vec![1; 20], vec![2; 17], vec![2; 80], written(2, &[], None), vec![0; 200]] {
            assert_eq!(Token::read(&bytes), None, "{bytes:?}");
        }
    }
}
