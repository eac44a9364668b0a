// The shop's name and logo, which customers see on the payment page and at the till.
import { host } from "./host";
import { drawn } from "./picture";

export interface Shop {
  name: string;
  /** A `data:` URL; empty if the shop has none. */
  logo: string;
}

/** Pixels of a logo. Customers see it smaller, also on a sharp display. */
const LOGO_WIDTH = 480;
const LOGO_HEIGHT = 200;

/** The most characters of a logo's `data:` URL, which the gateway sends with each payment page. */
const LOGO_MAX = 48 * 1024;

export async function readShop(): Promise<Shop> {
  const [name, logo] = await Promise.all([
    host().call({ command: "getSetting", name: "merchantName" }),
    host().call({ command: "getSetting", name: "merchantLogo" }),
  ]);
  return { name: name.value, logo: logo.value };
}

/** A picture as a logo: smaller if it is large, and a JPEG if a PNG takes too much space. Undefined if it is no picture. */
export async function logoOf(picture: Blob): Promise<string | undefined> {
  const canvas = await drawn(picture, LOGO_WIDTH, LOGO_HEIGHT).catch(() => undefined);
  const png = canvas?.toDataURL("image/png");
  if (!png || png.length <= LOGO_MAX) return png;
  // A JPEG has no transparent pixels: without a colour behind them they would be black.
  const opaque = await drawn(picture, LOGO_WIDTH, LOGO_HEIGHT, "#fff").catch(() => undefined);
  return opaque?.toDataURL("image/jpeg", 0.85);
}
