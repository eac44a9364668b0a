// Finds the texts for people in the sources of the program, for `wuchale.config.js`.
const PROGRAM = "../src-tauri";

/** The folders and files whose texts a person reads in the window, in a notice or at the command line. */
const READ_BY_PEOPLE = [
  "domain/src/{anomaly,permission,policy,restore,id,time,notification}.rs",
  "domain/src/{money,payment,payout,policy}/**/*.rs",
  "gateway/src/{field_errors,json,takings,staff_reason}.rs",
  "gateway/src/{access,anomalies,backup,cli,console,daemon,gateway,payments,payouts,rates,records,sandbox,sender,settings,setup,watcher}/**/*.rs",
  "gateway/src/{machine,notifications,settlement,wallet}/**/*.rs",
  "gateway/src/chain/core/blocks.rs",
  "gateway/src/store/{error,migrate,notify_hosts}.rs",
  "sandbox/src/{error,rules}.rs",
  "shell/*.rs",
];

/** Tests, and texts that only programs or customers read. */
const LEFT_OUT = [
  "**/tests/**",
  "**/{tests,testing}.rs",
  "gateway/src/backup/{folder,sealed,stored_key}.rs",
  "gateway/src/cli/{csv,json,log,remedy,strangers}.rs",
  "gateway/src/daemon/{unit,core_dump}.rs",
  "gateway/src/sender/laws/**",
  "gateway/src/wallet/spend/check.rs",
];

/** The sources with texts for people, and those among them without. */
export const sources = READ_BY_PEOPLE.map((pattern) => `${PROGRAM}/${pattern}`);
export const leftOut = LEFT_OUT.map((pattern) => `${PROGRAM}/${pattern}`);

/** Parts of the code whose texts no person reads. */
const FOR_PROGRAMS =
  /\.audit\([^"]*"[^"]*"|tracing::\w+!\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\.(?:expect|expect_err)\("(?:[^"\\]|\\.)*"\)|#!?\[(?:serde|arg|command|value|cfg|allow|expect|ts|doc|must_use)\b(?:[^\]"]|"(?:[^"\\]|\\.)*")*\]/g;

/** A text that is no sentence, phrase or heading: SQL, a path, a pattern, an act in the audit, the form of a number. */
const NO_TEXT =
  /\b(SELECT|INSERT|UPDATE|DELETE|CREATE|WHERE|PRAGMA|VALUES|ORDER BY|EXISTS|JOIN|FROM|VACUUM|REDACTED)\b|^[\w.:/\\-]*$|^\{?[\w.]*\}?[./_:-](?!\s)|\{\{|=\{|^--|^(settings|wallet|payouts) [a-z ]{3,16}$|^[A-Z]\w*[a-z][A-Z]\w*$|^\[`|^# /u;

/** A phrase: at least two words, or a word beside a value. Units of numbers are no words. */
const PHRASE = /\p{L}{2}[^ ]* \S*\p{L}{2}|\{\} \p{L}{3}|\p{L}{3} [“{]/u;
const UNITS = /\b(BTC|sat\/vB|MB|KiB)\b/g;

/** A heading or a name in an answer of the command line. */
const HEADING = /\("(\p{L}[\p{L} .’-]*)", ?(?:Left|Right|[a-z&(])/gu;

/** A single word that the program translates itself. */
const IN_LANGUAGE = /\bin_language\("(\[?\p{L}+)"\)/gu;

/** A number with its noun, such as `count(n, "payment", "payments")`. */
const COUNTED = /\b(?:count|number)\([^;"]*"([^"]+)",\s*"([^"]+)"/g;

/** The explanation of a command or an option, in lines that begin with `///`, but not that of a function. */
const EXPLAINED =
  /(?:^[ \t]*\/\/\/.*\n)+(?![ \t]*\/\/\/|(?:[ \t]*#.*\n)*[ \t]*(?:pub(?:\([^)]*\))? )?(?:const |async )?(?:fn|type|trait|const)\b)/gm;

/** The texts of a file, with numbers in place of the names of values: `{order}` becomes `{0}`. */
export function textsOf(content, file) {
  const code = content.split("#[cfg(test)]")[0].replaceAll(FOR_PROGRAMS, "");
  const said = code.replaceAll(/^\s*\/\/.*$/gm, "");
  const lines = [...said.matchAll(/(?<![r#'])"((?:[^"\\]|\\.)*)"/gs)].flatMap(([, text]) =>
    text
      .replaceAll(/\\\n\s*/g, "")
      .replaceAll('\\"', '"')
      .split("\\n"),
  );
  const found = new Set(
    lines
      .filter((text) => isForPeople(text.replaceAll(/\{[^{}]*\}/g, "{}"), file))
      .map((text) => numbered(text.trim().replace(/^[.,:;] /, ""))),
  );
  for (const [, one, many] of said.matchAll(COUNTED)) {
    for (const noun of [one, many]) if (found.delete(noun)) found.add(`{0} ${noun}`);
  }
  if (file.includes("/cli/render")) for (const [, text] of said.matchAll(HEADING)) found.add(text);
  for (const [, text] of said.matchAll(IN_LANGUAGE)) found.add(text);
  if (file.includes("/cli/args")) for (const text of explained(code)) found.add(text);
  return [...found];
}

function isForPeople(text, file) {
  if (/shell\/(standing|tray)\.rs/.test(file) && /^\p{Lu}\p{L}+$/u.test(text)) return text !== "Tillgate";
  return PHRASE.test(text.replaceAll(UNITS, "")) && !NO_TEXT.test(text);
}

function numbered(text) {
  let places = 0;
  return text.replaceAll(/\{[^{}]*\}/g, () => `{${places++}}`);
}

/** Each paragraph of the explanations, as clap shows it: in one line, the first one without its full stop. */
function explained(code) {
  return [...code.matchAll(EXPLAINED)].flatMap(([block]) =>
    block
      .replaceAll(/^[ \t]*\/\/\/ ?/gm, "")
      .trim()
      .split(/\n\s*\n/)
      .map((paragraph) => paragraph.replaceAll(/\s*\n\s*/g, " ").replace(/(?<!\.)\.$/, ""))
      .filter((text) => !NO_TEXT.test(text)),
  );
}
