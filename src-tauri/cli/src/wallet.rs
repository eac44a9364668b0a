//! Making the wallet with a person at the terminal, and reading words from the standard input.

use std::io::{BufRead, BufReader, IsTerminal as _, Read, Write as _};

use tillgate_console::settings::GetSetting;
use tillgate_console::wallet::{
    ConfirmWallet, CreateWallet, DraftWallet, MakeWallet, RestoreWallet, SheetView,
    WalletDraftView, Words,
};
use tillgate_gateway::setup::{Birthday, SetupError};
use tillgate_gateway::wallet::words::{self, BadWords};
use tillgate_machine::environment::Environment;
use tillgate_machine::secrets::Secret;
use zeroize::Zeroizing;

use super::args::Form;
use super::failure::Failure;
use super::gateway_client::{GatewayClient, found};
use super::hidden;
use super::options::options;
use super::output::print;

/// The most bytes that are read for 24 words.
const TYPED_MAX: usize = 4_096;

/// The initial capacity of the text, in bytes. It holds 24 words, because a text that grows leaves
/// copies in memory.
const TYPED_USUAL: usize = 512;

/// The most words of a wallet. Reading ends after this number of words.
const WORDS_MAX: usize = 24;

/// The number of tries to correct a wrong word.
const TRIES: usize = 5;

/// Makes the wallet: for a program at once, for a person after two of the words were typed back.
pub async fn create(
    asked: &CreateWallet,
    form: Form,
    gateway: &mut GatewayClient<'_>,
) -> Result<(), Failure> {
    match form {
        Form::Json => {
            let kept = gateway.answer_of(asked).await?;
            // Printed before the wallet is made, so that no wallet exists with unknown words.
            print(&format!("{}\n", serde_json::to_string(&kept)?))?;
            gateway.answer_of(&MakeWallet {}).await.map(drop)
        }
        Form::Text | Form::Table => {
            let draft = gateway.answer_of(&DraftWallet { words: asked.words }).await?;
            print(&render(&draft))?;
            let mut tries = 0;
            loop {
                let told = told_back(draft.asked)?;
                let confirmed = gateway
                    .answer_of(&ConfirmWallet { draft_id: draft.draft_id.clone(), told })
                    .await;
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

/// The words below each other, with their places.
fn render(draft: &WalletDraftView) -> String {
    let mut text = String::from(
        "These words are the wallet. Anyone who has them can spend its coins; without them nobody can restore it.\n\
         Write them down on paper, in this order. They are shown only once.\n\n",
    );
    for (place, word) in (1..).zip(draft.words.reveal().split(' ')) {
        text.push_str(&format!("{place:>4}  {word}\n"));
    }
    let SheetView { address_type, birthday } = &draft.sheet;
    text.push_str(&format!(
        "\nWrite these beside them, for a restore in Tillgate or in another program:\n\n\
         \u{20}     address type  {}\n      birthday      {birthday}\n\n",
        type_name(address_type)
    ));
    text
}

/// The name of an address type as other programs show it.
fn type_name(address_type: &str) -> &str {
    match address_type {
        "bip84" => "BIP84 (native SegWit)",
        "bip86" => "BIP86 (Taproot)",
        other => other,
    }
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

/// The word at `place`, as a program writes it to the standard input.
fn read_back(place: u32) -> Result<Words, Failure> {
    let mut stderr = std::io::stderr();
    write!(stderr, "Word {place}: ")?;
    stderr.flush()?;
    let Some(line) = line_of(&mut std::io::stdin().lock().take(TYPED_MAX as u64))? else {
        return Err(Failure(
            "no wallet was made: two of the words must be typed back, and the input ended (with --json no word must be typed back)"
                .to_owned(),
        ));
    };
    Ok(Words::new(line.reveal().trim().to_owned()))
}

/// Reads words from the standard input, on any number of lines, up to 24 words or an empty line. A
/// program's words end when they form a wallet and no more input is ready. A person is asked
/// whether the words are complete: if 24 words are pasted in two lines, the first half is a valid
/// wallet in one of sixteen cases.
pub fn read_words() -> Result<Words, Failure> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return words_of_program(BufReader::new(stdin.lock().take(TYPED_MAX as u64)));
    }
    let mut terminal = hidden::Terminal::hide()?;
    words_of(|text| {
        let line = match words::count(text) {
            0 if is_complete(text) => return Ok(None),
            0 => terminal.line("The wallet's words, in their order (they are not shown): ")?,
            known => terminal
                .line(&format!("{known} words so far; type more, or Enter if these are all: "))?,
        };
        Ok((!line.reveal().trim().is_empty()).then_some(line))
    })
}

/// Words from a program or a file.
fn words_of_program(mut typed: BufReader<impl Read>) -> Result<Words, Failure> {
    words_of(|text| {
        let is_all = typed.buffer().is_empty() && is_complete(text);
        Ok(if is_all { None } else { line_of(&mut typed)? })
    })
}

/// A line of a program's output or of a file; `None` at its end.
fn line_of(typed: &mut impl BufRead) -> std::io::Result<Option<Secret>> {
    let mut line = Zeroizing::new(String::with_capacity(TYPED_USUAL));
    Ok((typed.read_line(&mut line)? > 0).then(|| Secret::new(line.to_string())))
}

/// Refuses an invalid birthday, and a date if no backend is set that could look up its block. This
/// check runs before a person types words, and before any file is created.
pub async fn check_birthday(
    asked: &RestoreWallet,
    gateway: &mut GatewayClient<'_>,
) -> Result<(), Failure> {
    let Some(birthday) = &asked.birthday else { return Ok(()) };
    match Birthday::parse(birthday.trim()).ok_or(SetupError::Birthday)? {
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
        (
            value("network").unwrap_or_else(|| usual.to_owned()),
            value("backendUrl").unwrap_or_default(),
        )
    };
    if url.is_empty() && network != "sandbox" {
        return Err(Failure(
            "the block of a date is looked up by the Bitcoin backend, and none is set: set backendUrl first, or give a height"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Reads words as [`read`] does, and refuses invalid ones before a file is opened or created for
/// them.
pub fn read_valid() -> Result<Words, Failure> {
    let text = read_words()?;
    words::parse(text.reveal())?;
    Ok(text)
}

/// Collects the words from any number of lines, of a sheet with its heading too. `next` gets the
/// text so far and returns one more line; `None` if the words are complete.
fn words_of(
    mut next: impl FnMut(&str) -> Result<Option<Secret>, Failure>,
) -> Result<Words, Failure> {
    let mut text = Zeroizing::new(String::with_capacity(TYPED_USUAL));
    // A heading has more words than a wallet, and the numbered words below it are counted alone.
    while words::count(&text) != WORDS_MAX && text.len() < TYPED_MAX {
        let Some(line) = next(&text)? else { break };
        if line.reveal().trim().is_empty() && (1..=WORDS_MAX).contains(&words::count(&text)) {
            break;
        }
        text.push_str(line.reveal());
        text.push(' ');
    }
    Ok(Words::new(text.to_string()))
}

/// Whether a text needs no further line: it is a wallet, or a secret that has no words.
fn is_complete(text: &str) -> bool {
    words::parse(text).map_or_else(BadWords::is_no_words, |_| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong";

    /// A program that prints one line at a time and then waits.
    struct LineByLine<'a>(std::str::Lines<'a>);

    impl Read for LineByLine<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let line = format!(
                "{}\n",
                self.0.next().expect("the reader waits for more lines than there are")
            );
            to[..line.len()].copy_from_slice(line.as_bytes());
            Ok(line.len())
        }
    }

    fn count_of(read: Result<Words, Failure>) -> usize {
        words::count(read.unwrap().reveal())
    }

    #[test]
    fn words_are_read_from_one_line_or_from_many() {
        let read_of = |typed: &str| count_of(words_of_program(BufReader::new(typed.as_bytes())));
        assert_eq!(read_of(VALID), 12);
        assert_eq!(read_of(&"zoo\n".repeat(24)), 24);
        assert_eq!(read_of("zoo zoo\nzoo\n\nmore"), 3, "an empty line ends the words");
        let sheet: String = (1..=24).map(|place| format!("{place:>4}  zoo\n")).collect();
        assert_eq!(read_of(&format!("{sheet}\nmore")), 24, "the sheet that `wallet create` prints");
        assert_eq!(read_of(&"7.\nzoo,\n".repeat(24)), 24, "numbers on lines of their own");
        assert_eq!(read_of(&format!("{VALID}\n\nmore")), 12);
        assert_eq!(read_of(&format!("{}\nmore", "zoo ".repeat(24))), 24);
        assert_eq!(read_of(""), 0);
    }

    #[test]
    fn the_sheet_that_the_command_prints_is_read_whole() {
        for words in [VALID.to_owned(), format!("{}vote", "zoo ".repeat(23))] {
            let sheet =
                SheetView { address_type: "bip84".to_owned(), birthday: "812345".to_owned() };
            let draft = WalletDraftView {
                draft_id: String::new(),
                words: Words::new(words.clone()),
                asked: [1, 2],
                sheet,
            };
            let read = words_of_program(BufReader::new(render(&draft).as_bytes())).unwrap();
            assert_eq!(words::parse(read.reveal()).unwrap().reveal(), words);
        }
    }

    #[test]
    fn a_programs_twelve_words_end_if_valid_and_no_input_is_ready() {
        let of_lines =
            |typed: &str| count_of(words_of_program(BufReader::new(LineByLine(typed.lines()))));
        assert_eq!(of_lines(VALID), 12, "the reader does not wait for the pipe to close");
        let halves = format!("{}\n{}", "zoo ".repeat(12), "zoo ".repeat(12));
        assert_eq!(of_lines(&halves), 24, "the first twelve words are not valid alone");
        let both = format!("{VALID}\n{VALID}");
        assert_eq!(
            count_of(words_of_program(BufReader::new(both.as_bytes()))),
            24,
            "the second line is ready before the words are checked"
        );
    }
}
