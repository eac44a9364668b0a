//! Making the wallet with a person at the terminal, and reading words from the standard input.

use std::io::{BufRead, IsTerminal as _, Read as _, Write as _};

use super::args::Form;
use super::asked::Asked;
use super::{Failure, print};
use crate::console::wallet::{ConfirmWallet, CreateWallet, DraftWallet, MakeWallet, WalletDraftView, Words};
use crate::wallet::words;

/// More than 24 words take.
const TYPED_MAX: u64 = 4_096;

/// The fewest words of a wallet: who types so many on the first line has typed all.
const WORDS_MIN: usize = 12;

/// How often a wrong word may be corrected.
const TRIES: usize = 5;

/// Makes the wallet: for a program at once, for people once they have told back two of the words that they wrote down.
pub(super) async fn create(asked: &CreateWallet, form: Form, gateway: &mut Asked<'_>) -> Result<(), Failure> {
    match form {
        Form::Json => {
            let kept = gateway.answer_of(asked).await?;
            // Told before there is a wallet: none is made of which nobody knows the words.
            print(&format!("{}\n", serde_json::to_string(&kept)?))?;
            gateway.answer_of(&MakeWallet {}).await.map(drop)
        }
        Form::Text | Form::Csv => {
            let draft = gateway.answer_of(&DraftWallet { words: asked.words }).await?;
            print(&shown(&draft))?;
            let mut tries = 0;
            loop {
                let told = [told_back(draft.asked[0])?, told_back(draft.asked[1])?];
                let confirmed = gateway.answer_of(&ConfirmWallet { draft_id: draft.draft_id.clone(), told }).await;
                tries += 1;
                match confirmed {
                    Ok(_) => break,
                    Err(Failure(why)) if tries < TRIES && std::io::stdin().is_terminal() => {
                        let _ = writeln!(std::io::stderr(), "{why}");
                    }
                    Err(failure) => return Err(failure),
                }
            }
            Ok(print("The wallet is made. Nobody can show you these words again.\n")?)
        }
    }
}

/// The words one below the other, with their places.
fn shown(draft: &WalletDraftView) -> String {
    let mut text = String::from(
        "These words are the wallet. Who has them has its coins; without them nobody can bring it back.\n\
         Write them down on paper, in this order. They are shown this once.\n\n",
    );
    for (place, word) in (1..).zip(draft.words.reveal().split(' ')) {
        text.push_str(&format!("{place:>4}  {word}\n"));
    }
    text.push('\n');
    text
}

fn told_back(place: u32) -> Result<Words, Failure> {
    let mut stderr = std::io::stderr();
    write!(stderr, "Word {place}: ")?;
    stderr.flush()?;
    let mut line = String::new();
    if std::io::stdin().lock().take(TYPED_MAX).read_line(&mut line)? == 0 {
        return Err(Failure(
            "nothing was made: two of the words are asked back, and nobody answered (with --json nothing is asked back)"
                .to_owned(),
        ));
    }
    Ok(Words::new(line.trim().to_owned()))
}

/// Words from the standard input: a line with all of them, or one after the other until the end or an empty line.
pub(super) fn read() -> Result<Words, Failure> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        let mut stderr = std::io::stderr();
        write!(stderr, "The wallet's words, in their order: ")?;
        stderr.flush()?;
    }
    Ok(Words::new(words_of(stdin.lock().take(TYPED_MAX))?))
}

/// The same of which a wallet can be restored: others are refused before anything is opened or made for them.
pub(super) fn read_valid() -> Result<Words, Failure> {
    let text = read()?;
    words::read(text.reveal())?;
    Ok(text)
}

fn words_of(mut typed: impl BufRead) -> std::io::Result<String> {
    let mut text = String::new();
    loop {
        let before = text.len();
        let read = typed.read_line(&mut text)?;
        let line = text.get(before..).unwrap_or_default();
        let ends = line.trim().is_empty() && before > 0;
        if read == 0 || ends || (before == 0 && line.split_whitespace().count() >= WORDS_MIN) {
            return Ok(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of this, and what is left.
    fn read_of(typed: &str) -> (usize, String) {
        let mut rest = typed.as_bytes();
        let read = words_of(&mut rest).unwrap();
        (read.split_whitespace().count(), String::from_utf8(rest.to_vec()).unwrap())
    }

    #[test]
    fn words_are_read_from_one_line_or_from_many() {
        let twelve = "zoo ".repeat(12);
        assert_eq!(read_of(&format!("{twelve}\nmore")), (12, "more".to_owned()), "a pipe that stays open is no wait");
        assert_eq!(read_of(&"zoo\n".repeat(24)), (24, String::new()));
        assert_eq!(read_of("zoo zoo\nzoo\n\nmore"), (3, "more".to_owned()));
        assert_eq!(read_of(""), (0, String::new()));
    }
}
