// Draws pictures that a person chooses, to read a code in them or to keep them small.

/** Draws a picture in at most this many pixels, on a colour if one is named. Rejects if the file is no picture. */
export async function drawn(
  picture: Blob,
  width: number,
  height: number,
  background?: string,
): Promise<HTMLCanvasElement> {
  const bitmap = await createImageBitmap(picture);
  const scale = Math.min(1, width / bitmap.width, height / bitmap.height);
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const context = canvas.getContext("2d");
  if (context && background) {
    context.fillStyle = background;
    context.fillRect(0, 0, canvas.width, canvas.height);
  }
  context?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas;
}
