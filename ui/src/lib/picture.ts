// Draws pictures that a person chooses, to read a code in them or to keep them small.

/** Draws a picture in at most this many pixels. Rejects if the file is no picture. */
export async function drawn(picture: Blob, width: number, height: number): Promise<HTMLCanvasElement> {
  const bitmap = await createImageBitmap(picture);
  const scale = Math.min(1, width / bitmap.width, height / bitmap.height);
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas;
}
