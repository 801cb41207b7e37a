import { expect, test } from "vitest";
import { fingerprintOf } from "./fingerprint.ts";
import { Xxh3 } from "./xxh3.ts";

function content(size: number): Uint8Array<ArrayBuffer> {
  let x = 1;
  return Uint8Array.from({ length: size }, () => {
    x = Number((BigInt(x) * 1103515245n + 12345n) & 0x7fffffffn);
    return (x >> 16) & 255;
  });
}

/** By size, from the reference implementation: `xxhash.xxh3_128(content).hexdigest()`. */
const KNOWN: Record<number, string> = {
  0: "99aa06d3014798d86001c324468d497f",
  1: "9a0f174ae92e6df2e5e62017e96f839c",
  2: "13a82070861b3b8ce99f8ba75698ec0f",
  3: "da47c2149249db69d3bcc83c6f14e70f",
  4: "504303785d7b5ac9e267cf807951fe26",
  7: "14be62cb833aed42e7537349b8e5aa3d",
  8: "e4f1bc54c38ed231ec0b5b60d4670d0e",
  9: "046e6473695659653b1764b161f03ecd",
  15: "96d4055ae6df085d021189e8e7df5eb0",
  16: "82d56864b86d46550c85c3b7b344cfaf",
  17: "e07226299d418421ee80c12e2eaa110d",
  32: "064ad1b44ce81ec6f852b8182febef65",
  64: "960fca3c66b39991f2a2091b45bbd9cf",
  100: "7f069eb0bbca1473642b5806e5883104",
  128: "4a4e39fcfa4515aa08d61631b87e5395",
  129: "5d41bb88ee7f7e4511b15591bb767e79",
  160: "601f389dcff5cb81e72a6d6e8527b950",
  200: "fbe7b91005c8f97b4a8a2a56bda735cd",
  240: "f92b835add69c25d4627a2b0d94e7351",
  241: "80610486edf872df5c56141c894cd97e",
  256: "242daf7771ae05e6cdb34974678d6687",
  1023: "60aea7ae66c3a6eb123989704c814592",
  1024: "dcc4b2941cb5e5e40551dea22e104ea8",
  1025: "2e457d89ed1973d3dbe2ed3c377d9922",
  1087: "b4e0071a539436ddacec44e1c583ea6e",
  1088: "53ae9650f04ffa9598ce47a58d705d59",
  1089: "e504b29c076859e88c3ba502883f2263",
  2048: "700fc6dc214ea9e40e137a69a82b62c0",
  2049: "83c842cbeb14f9a52ba993b30fe87e40",
  5000: "b52a8229caae39c480b0120fc87dbf6e",
  100000: "074cd6f4fc8fa18ea17aee0fec64d284",
};

test.each(Object.entries(KNOWN))("%s bytes, in one piece and in many", (size, digest) => {
  const bytes = content(Number(size));
  const whole = new Xxh3();
  whole.update(bytes);
  const pieces = new Xxh3();
  for (let at = 0; at < bytes.length; at += 137) pieces.update(bytes.subarray(at, at + 137));
  expect([whole.digest(), pieces.digest()]).toEqual([digest, digest]);
});

test("a packed file is the content in it; what a browser cannot unpack is refused", async () => {
  expect(await fingerprintOf(new Blob([content(5000)]))).toBe(`xxh3-128:${KNOWN[5000]}`);
  const packed = new Blob([content(5000)]).stream().pipeThrough(new CompressionStream("gzip"));
  expect(await fingerprintOf(await new Response(packed).blob())).toBe(`xxh3-128:${KNOWN[5000]}`);
  await expect(fingerprintOf(new Blob([Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0)]))).rejects.toThrow(
    "cannot unpack zstd",
  );
});
