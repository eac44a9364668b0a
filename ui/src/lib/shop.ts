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

/** The value of a setting of the shop. */
export async function readSetting(name: string): Promise<string> {
  return (await host().call({ command: "getSetting", name })).value;
}

export async function readShop(): Promise<Shop> {
  const [name, logo] = await Promise.all([readSetting("merchantName"), readSetting("merchantLogo")]);
  return { name, logo };
}

/** A picture as a logo: smaller if it is large, and a JPEG if a PNG takes too much space. Undefined if it is no picture. */
export async function logoOf(picture: Blob): Promise<string | undefined> {
  const canvas = await drawn(picture, LOGO_WIDTH, LOGO_HEIGHT).catch(() => undefined);
  const png = canvas?.toDataURL("image/png");
  const context = canvas?.getContext("2d");
  if (!canvas || !context || !png || png.length <= LOGO_MAX) return png;
  // A JPEG has no transparent pixels: without white behind them they would be black.
  context.globalCompositeOperation = "destination-over";
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/jpeg", 0.85);
}
