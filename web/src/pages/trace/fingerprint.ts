// The fingerprint of a file as the server's clients make it: XXH3-128 over the content after one unpacking. The browser
// unpacks gzip; of what it cannot unpack it says so, and does not hash the wrong thing.
import { Xxh3 } from "./xxh3.ts";

const PACKED: readonly [name: string, first: readonly number[]][] = [
  ["bzip2", [0x42, 0x5a, 0x68]],
  ["xz", [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]],
  ["zstd", [0x28, 0xb5, 0x2f, 0xfd]],
  ["zip", [0x50, 0x4b, 0x03, 0x04]],
];
const begins = (head: Uint8Array, first: readonly number[]) => first.every((byte, i) => head[i] === byte);

export async function fingerprintOf(
  file: Blob & { name?: string },
  progress?: (done: number) => void,
): Promise<string> {
  const head = new Uint8Array(await file.slice(0, 8).arrayBuffer());
  const packed = PACKED.find(([, first]) => begins(head, first));
  if (packed)
    throw new Error(
      `A browser cannot unpack ${packed[0]}. Run \`headwater fingerprint ${file.name ?? "FILE"}\`, and paste what it prints.`,
    );
  let read = 0;
  const counted = file.stream().pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(piece, controller) {
        read += piece.length;
        progress?.(read);
        controller.enqueue(piece);
      },
    }),
  );
  const content = begins(head, [0x1f, 0x8b]) ? counted.pipeThrough(new DecompressionStream("gzip")) : counted;
  const hash = new Xxh3();
  const reader = content.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    hash.update(value);
  }
  return `xxh3-128:${hash.digest()}`;
}
