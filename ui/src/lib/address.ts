// Reads a Bitcoin address from a typed text, a pasted URI or a picture of a QR code.
import { drawn } from "./picture";

/** A request for coins: an address, and a sum in BTC if the request names one. */
export interface Requested {
  address: string;
  btcAmount?: string;
}

/** The longer side of the picture that is searched for a code, in pixels. More pixels cost time and find no more. */
const SEARCHED_PIXELS = 1600;

/** The address in a text. A `bitcoin:` URI may also name a sum (BIP21). */
export function requestedBy(text: string): Requested {
  const trimmed = text.trim();
  const uri = /^bitcoin:([^?]*)(?:\?(.*))?$/i.exec(trimmed);
  if (!uri) return { address: trimmed };
  const address = uri[1] ?? "";
  const amount = new URLSearchParams(uri[2] ?? "").get("amount");
  return amount && /^\d+(\.\d+)?$/.test(amount) ? { address, btcAmount: amount } : { address };
}

/** The text of the QR code in a picture; undefined if the file is no picture or shows no code. */
export async function codeIn(picture: Blob): Promise<string | undefined> {
  // Most visits need no decoder, so it is loaded with the first picture.
  const { decodeQR } = await import("qr/decode.js");
  const pixels = await pixelsOf(picture).catch(() => undefined);
  if (!pixels) return undefined;
  try {
    return decodeQR(pixels);
  } catch {
    return undefined;
  }
}

async function pixelsOf(picture: Blob): Promise<ImageData | undefined> {
  const canvas = await drawn(picture, SEARCHED_PIXELS, SEARCHED_PIXELS);
  return canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height);
}
