//! Making the wallet with a person at the terminal, and reading words from the standard input.

use std::io::{BufRead, IsTerminal as _, Read as _, Write as _};

use zeroize::Zeroizing;

use super::args::Form;
use super::asked::{Asked, found};
use super::{Failure, hidden, options, print};
use crate::console::settings::GetSetting;
use crate::console::wallet::{
    ConfirmWallet, CreateWallet, DraftWallet, MakeWallet, RestoreWallet, WalletDraftView, Words,
};
use crate::machine::environment::Environment;
use crate::machine::secrets::Secret;
use crate::setup::{Birthday, SetupError};
use crate::wallet::words;

/// More than 24 words take.
const TYPED_MAX: usize = 4_096;

/// As much as 24 words take: a text that grows leaves copies behind.
const TYPED_USUAL: usize = 512;

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
                let told = told_back(draft.asked)?;
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

/// The words at these places, as a person types them.
fn told_back(places: [u32; 2]) -> Result<[Words; 2], Failure> {
    if !std::io::stdin().is_terminal() {
        return Ok([read_back(places[0])?, read_back(places[1])?]);
    }
    let mut terminal = hidden::Terminal::hide()?;
    let mut ask = |place| {
        let word = terminal.line(&format!("Word {place} (it is not shown): "))?;
        Ok::<_, Failure>(Words::new(word.reveal().trim().to_owned()))
    };
    Ok([ask(places[0])?, ask(places[1])?])
}

/// The same of one place from a program.
fn read_back(place: u32) -> Result<Words, Failure> {
    let mut stderr = std::io::stderr();
    write!(stderr, "Word {place}: ")?;
    stderr.flush()?;
    let Some(line) = line_of(&mut std::io::stdin().lock().take(TYPED_MAX as u64))? else {
        return Err(Failure(
            "nothing was made: two of the words are asked back, and nobody answered (with --json nothing is asked back)"
                .to_owned(),
        ));
    };
    Ok(Words::new(line.reveal().trim().to_owned()))
}

/// Words from the standard input: a line with all of them, or one after the other until the end or an empty line.
pub(super) fn read() -> Result<Words, Failure> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        let mut typed = stdin.lock().take(TYPED_MAX as u64);
        return words_of(|_| Ok(line_of(&mut typed)?));
    }
    let mut terminal = hidden::Terminal::hide()?;
    words_of(|known| {
        let line = match known {
            0 => terminal.line("The wallet's words, in their order (they are not shown): ")?,
            known => terminal.line(&format!("{known} words so far; more, or nothing where these are all: "))?,
        };
        Ok((!line.reveal().trim().is_empty()).then_some(line))
    })
}

/// A line of a program's or a file's; `None` at its end.
fn line_of(typed: &mut impl BufRead) -> std::io::Result<Option<Secret>> {
    let mut line = Zeroizing::new(String::with_capacity(TYPED_USUAL));
    Ok((typed.read_line(&mut line)? > 0).then(|| Secret::new(line.to_string())))
}

/// Refuses a birthday that is none, and a date where no backend is set that could tell its block: before anybody types words, and
/// before anything is made.
pub(super) async fn check_birthday(asked: &RestoreWallet, gateway: &mut Asked<'_>) -> Result<(), Failure> {
    let Some(birthday) = &asked.birthday else { return Ok(()) };
    match Birthday::read(birthday.trim()).ok_or(SetupError::Birthday)? {
        Birthday::Height(_) => return Ok(()),
        Birthday::Date(_) => {}
    }
    let (_, is_there) = found(gateway.common)?;
    let (network, url) = if is_there {
        let mut value = async |name: &str| {
            let setting = gateway.answer_of(&GetSetting { name: name.to_owned() }).await?;
            Ok::<_, Failure>(setting.value)
        };
        (value("network").await?, value("backendUrl").await?)
    } else {
        let given = options(gateway.common)?.overrides;
        let value = |name| given.get(name).map(|one| one.value.clone());
        let usual = match gateway.common.environment {
            Environment::Test => "sandbox",
            Environment::Production => "bitcoin",
        };
        (value("network").unwrap_or_else(|| usual.to_owned()), value("backendUrl").unwrap_or_default())
    };
    if url.is_empty() && network != "sandbox" {
        return Err(Failure(
            "which block a date has is asked of the Bitcoin backend, and none is set: set backendUrl first, or name a height"
                .to_owned(),
        ));
    }
    Ok(())
}

/// The same of which a wallet can be restored: others are refused before anything is opened or made for them.
pub(super) fn read_valid() -> Result<Words, Failure> {
    let text = read()?;
    words::read(text.reveal())?;
    Ok(text)
}

/// The words of as many lines as hold them. `next` is told how many there are, and answers one more line.
fn words_of(mut next: impl FnMut(usize) -> Result<Option<Secret>, Failure>) -> Result<Words, Failure> {
    let mut text = Zeroizing::new(String::with_capacity(TYPED_USUAL));
    loop {
        let known = text.split_whitespace().count();
        let Some(line) = next(known)? else { break };
        let more = line.reveal().split_whitespace().count();
        text.push_str(line.reveal());
        text.push(' ');
        if (more == 0 && known > 0) || (known == 0 && more >= WORDS_MIN) || text.len() >= TYPED_MAX {
            break;
        }
    }
    Ok(Words::new(text.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of this, and what is left.
    fn read_of(typed: &str) -> (usize, String) {
        let mut rest = typed.as_bytes();
        let read = words_of(|_| Ok(line_of(&mut rest)?)).unwrap();
        (read.reveal().split_whitespace().count(), String::from_utf8(rest.to_vec()).unwrap())
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
