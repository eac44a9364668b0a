// The keys of the window, as the help lists them.

export interface Shortcut {
  keys: readonly string[];
  text: string;
}

export const SHORTCUTS: readonly { where: string; keys: readonly Shortcut[] }[] = [
  {
    where: "On every screen",
    keys: [
      { keys: ["n"], text: "New payment, or new payout among the payouts" },
      { keys: ["t"], text: "Till" },
      { keys: ["/"], text: "Search" },
      { keys: ["Esc"], text: "Back to the list, or close a dialog" },
      { keys: ["?", "F1"], text: "Help for this screen" },
      { keys: ["Ctrl+1", "Ctrl+2"], text: "Test, real money" },
      { keys: ["Ctrl+Q"], text: "Quit" },
    ],
  },
  {
    where: "Needs attention",
    keys: [
      { keys: ["j", "k"], text: "Next, previous" },
      { keys: ["Enter"], text: "Press the recommended button" },
    ],
  },
  {
    where: "Till",
    keys: [
      { keys: ["0–9"], text: "Type the price" },
      { keys: ["+"], text: "Add another amount" },
      { keys: ["Enter"], text: "Charge" },
      { keys: ["Esc"], text: "Clear, or back to the keypad" },
    ],
  },
];
