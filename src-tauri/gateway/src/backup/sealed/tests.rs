//! Tests that sealed content is read back completely, or the file is refused.

use std::io::{BufReader, Read as _, Write as _};

use super::*;

const FILE_ID: FileId = [9; FILE_ID_BYTES];

fn sealed(content: &[u8]) -> Vec<u8> {
    let mut sealing =
        Sealing::begin(Vec::new(), &BackupKey::cheap("passphrase"), &FILE_ID).unwrap();
    sealing.write_all(content).unwrap();
    sealing.finish().unwrap()
}

fn opened_with(file: &[u8], passphrase: &str) -> Result<Vec<u8>, BackupError> {
    let closed = Closed::read(BufReader::new(file))?;
    let key = closed.recipe.key(&tillgate_machine::secrets::Secret::new(passphrase.to_owned()))?;
    let mut content = Vec::new();
    closed.open(&key).read_to_end(&mut content).map_err(BackupError::reading)?;
    Ok(content)
}

fn opened(file: &[u8]) -> Result<Vec<u8>, BackupError> {
    opened_with(file, "passphrase")
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|index| u8::try_from(index % 251).unwrap()).collect()
}

fn line_length(file: &[u8]) -> usize {
    file.iter().position(|byte| *byte == b'\n').unwrap() + 1
}

#[test]
fn content_of_lengths_around_a_chunk_is_read_back() {
    for length in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES] {
        let content = content(length);
        assert_eq!(opened(&sealed(&content)).unwrap(), content, "{length}");
    }
}

#[test]
fn a_file_that_was_cut_anywhere_is_refused() {
    let file = sealed(&content(2 * CHUNK_BYTES + 5));
    let line = line_length(&file);
    let chunk = CHUNK_BYTES + TAG_BYTES;
    for length in [
        0,
        line - 1,
        line,
        line + 1,
        line + chunk - 1,
        line + chunk,
        line + 2 * chunk,
        file.len() - 1,
    ] {
        assert!(opened(&file[..length]).is_err(), "{length} of {}", file.len());
    }
    assert!(opened(&[&file[..], b"x"].concat()).is_err(), "a file with an added byte was opened");
}

#[test]
fn a_changed_byte_anywhere_is_refused() {
    let file = sealed(&content(CHUNK_BYTES + 5));
    let line = line_length(&file);
    for at in (0..line).chain([line, line + 70, line + CHUNK_BYTES + TAG_BYTES, file.len() - 1]) {
        let mut changed = file.clone();
        changed[at] ^= 1;
        assert!(opened(&changed).is_err(), "byte {at}");
    }
}

#[test]
fn swapped_repeated_or_missing_chunks_are_refused() {
    let file = sealed(&content(3 * CHUNK_BYTES + 5));
    let (line, rest) = file.split_at(line_length(&file));
    let chunks: Vec<&[u8]> = rest.chunks(CHUNK_BYTES + TAG_BYTES).collect();
    for order in [&[1, 0, 2, 3][..], &[0, 1, 1, 2, 3], &[0, 2, 3], &[0, 1, 2]] {
        let mut changed = line.to_vec();
        order.iter().for_each(|index| changed.extend(chunks[*index]));
        assert!(
            matches!(opened(&changed), Err(BackupError::Damaged | BackupError::WrongPassphrase)),
            "{order:?}"
        );
    }
}

#[test]
fn a_chunk_of_another_file_with_the_same_passphrase_is_refused() {
    let file = sealed(&content(2 * CHUNK_BYTES));
    let mut sealing =
        Sealing::begin(Vec::new(), &BackupKey::cheap("passphrase"), &[8; FILE_ID_BYTES]).unwrap();
    sealing.write_all(&content(2 * CHUNK_BYTES)).unwrap();
    let other = sealing.finish().unwrap();
    let half = line_length(&file) + CHUNK_BYTES + TAG_BYTES;
    assert!(matches!(opened(&[&file[..half], &other[half..]].concat()), Err(BackupError::Damaged)));
}

#[test]
fn a_wrong_passphrase_and_other_files_have_different_errors() {
    let file = sealed(b"content");
    assert!(matches!(opened_with(&file, "another"), Err(BackupError::WrongPassphrase)));
    for other in [&b""[..], b"SQLite format 3\0", b"{}\n", &[b'x'; 5_000]] {
        assert!(matches!(opened(other), Err(BackupError::NotABackup)));
    }
    let newer =
        String::from_utf8_lossy(&file).replacen("\"tillgateBackup\":1", "\"tillgateBackup\":2", 1);
    assert!(matches!(opened(newer.as_bytes()), Err(BackupError::NewerForm)));
}
