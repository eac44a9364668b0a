// The groups of the screen "Settings", as a merchant thinks of them.

export type Group = (typeof GROUPS)[number]["group"];

/** The groups in their order, with their names for people. */
export const GROUPS = [
  { group: "shop", name: "Your shop" },
  { group: "money", name: "Money" },
  { group: "payouts", name: "Payouts" },
  { group: "network", name: "Bitcoin network" },
  { group: "rates", name: "Exchange rates" },
  { group: "reach", name: "Public address" },
  { group: "notices", name: "Notices" },
  { group: "look", name: "Language and look" },
  { group: "backup", name: "Backup" },
  { group: "software", name: "Shop software" },
] as const;

export function isGroup(text: string | undefined): text is Group {
  return GROUPS.some(({ group }) => group === text);
}
