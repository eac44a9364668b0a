//! The command line in the person's language: its explanations, and its answers to people. JSON, CSV and the log stay in
//! English.

use clap::builder::{Resettable, StyledStr};
use clap::{Arg, Command};

use crate::machine::language::{in_language, translated_texts};

/// Sentences of `clap` itself, in its errors.
const OF_CLAP: [&str; 15] = [
    "unrecognized subcommand '{0}'",
    "unexpected argument '{0}' found",
    "unexpected value '{0}' for '{1}' found; no more were expected",
    "the following required arguments were not provided:",
    "a value is required for '{0}' but none was supplied",
    "invalid value '{0}' for '{1}': {2}",
    "invalid value '{0}' for '{1}'",
    "the argument '{0}' cannot be used with '{1}'",
    "the argument '{0}' cannot be used with:",
    "the argument '{0}' cannot be used multiple times",
    "a similar argument exists: '{0}'",
    "a similar subcommand exists: '{0}'",
    "a similar value exists: '{0}'",
    "to pass '{0}' as a value, use '{1}'",
    "For more information, try '{0}'.",
];

/// The grammar with its explanations in the person's language.
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

/// A help or an error of `clap` with its own words in the person's language.
pub(super) fn of_clap(text: &str) -> String {
    let said = |word: &str, said: String, mark: &str| (format!("{word}{mark}"), format!("{said}{mark}"));
    let words = [
        said("Usage", in_language("Usage"), ": "),
        said("Arguments", in_language("Arguments"), ":\n"),
        said("Options", in_language("Options"), ":\n"),
        said("Commands", in_language("Commands"), ":\n"),
        said("Options of every command", in_language("Options of every command"), ":\n"),
        said("Possible values", in_language("Possible values"), ":\n"),
        said("[possible values", in_language("[possible values"), ": "),
        said("[default", in_language("[default"), ": "),
        said("[env", in_language("[variable"), ": "),
    ];
    let text = words.iter().fold(text.to_owned(), |text, (word, said)| text.replace(word, said));
    text.split('\n').map(line_of_clap).collect::<Vec<_>>().join("\n")
}

/// A line of a help or an error. Sentences follow the marks `error: ` and `tip: `, or an option of the help.
fn line_of_clap(line: &str) -> String {
    for (mark, said) in [("error: ", in_language("error")), ("  tip: ", in_language("tip"))] {
        if let Some(sentence) = line.strip_prefix(mark) {
            let space = &mark[..mark.len() - mark.trim_start().len()];
            return format!("{space}{said}: {}", sentence_of_clap(sentence).unwrap_or_else(|| in_language(sentence)));
        }
    }
    // The explanation of a possible value: `- csv: A table`.
    if let Some((name, help)) = line.split_once(": ").filter(|(name, _)| name.trim_start().starts_with("- ")) {
        return format!("{name}: {}", in_language(help.trim_start()));
    }
    let helps = [
        "Print help (see a summary with '-h')",
        "Print help (see more with '--help')",
        "Print this message or the help of the given subcommand(s)",
        "Print help",
        "Print version",
    ];
    match helps.iter().find(|help| line.ends_with(**help)) {
        Some(help) => line.replace(help, &in_language(help)),
        None => sentence_of_clap(line).unwrap_or_else(|| line.to_owned()),
    }
}

/// A sentence of `clap` in the person's language; `None` for another text.
fn sentence_of_clap(text: &str) -> Option<String> {
    let begins = |sentence: &str| sentence.split('{').next().is_some_and(|beginning| text.starts_with(beginning));
    OF_CLAP.iter().any(|sentence| begins(sentence)).then(|| in_language(text))
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
