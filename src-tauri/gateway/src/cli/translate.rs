//! The command line in the person's language: its explanations, and its answers to people. JSON, CSV and the log stay in
//! English.

use clap::builder::{Resettable, StyledStr};
use clap::{Arg, Command};

use crate::machine::language::{in_language, translated_texts};

/// The grammar with its explanations in the person's language. Words of `clap` itself stay in English.
pub(super) fn explained(command: Command) -> Command {
    if translated_texts().is_empty() {
        return command;
    }
    let said =
        |text: Option<&StyledStr>| Resettable::from(text.map(|text| StyledStr::from(paragraphs(&text.to_string()))));
    let (about, long_about) = (said(command.get_about()), said(command.get_long_about()));
    let after = Resettable::from(command.get_after_help().map(|text| StyledStr::from(in_language(&text.to_string()))));
    let argument = move |arg: Arg| {
        let (help, long_help) = (said(arg.get_help()), said(arg.get_long_help()));
        arg.help(help).long_help(long_help)
    };
    command.about(about).long_about(long_about).after_help(after).mut_args(argument).mut_subcommands(explained)
}

/// Translates an explanation paragraph by paragraph. The texts of the languages have no full stop at its end.
fn paragraphs(text: &str) -> String {
    let said = |paragraph: &str| match paragraph.strip_suffix('.') {
        Some(sentence) => format!("{}.", in_language(sentence)),
        None => in_language(paragraph),
    };
    text.split("\n\n").map(said).collect::<Vec<_>>().join("\n\n")
}

/// A phrase of an answer. One word may be a name that a person chose, so it stays.
pub(super) fn phrase(text: &str) -> String {
    if text.contains(' ') { in_language(text) } else { text.to_owned() }
}

/// An answer, sentence by sentence. Lines of a table hold translated phrases already.
pub(super) fn sentences(answer: &str) -> String {
    let said = |line: &str| if line.contains("  ") { line.to_owned() } else { in_language(line) };
    answer.split('\n').map(said).collect::<Vec<_>>().join("\n")
}
