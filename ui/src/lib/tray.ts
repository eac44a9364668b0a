// The words of the desktop program's tray and of the window's title, in the person's language.

/** The words. `#` stands for a number, and `many` is for any number but one. */
export interface TrayWords {
  show: string;
  quit: string;
  test: { name: string; title: string };
  production: { name: string; title: string };
  reversals: { one: string; many: string };
  offers: { one: string; many: string };
  noBackup: string;
}

export function trayWords(): TrayWords {
  return {
    show: "Show Tillgate",
    quit: "Quit Tillgate",
    test: { name: "Test", title: "Tillgate (test environment)" },
    production: { name: "Production", title: "Tillgate (production)" },
    reversals: { one: "# payment reversed", many: "# payments reversed" },
    offers: { one: "# payout waits for approval", many: "# payouts wait for approval" },
    noBackup: "no nightly backup is made",
  };
}
