// XXH3, 128 bits, seed 0: the hash that fingerprints are made of (https://github.com/Cyan4973/xxHash, the specification's
// own names). For content that comes in pieces. 64-bit numbers are pairs of 32-bit halves where it must be fast, BigInt where not.

const SECRET = Uint8Array.from(
  (
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c" +
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364" +
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
  )
    .match(/../g)!
    .map((pair) => Number.parseInt(pair, 16)),
);
const SECRET_VIEW = new DataView(SECRET.buffer);
const SECRET_WORDS = new Uint32Array(SECRET.length - 3);
for (let i = 0; i < SECRET_WORDS.length; i++) SECRET_WORDS[i] = SECRET_VIEW.getUint32(i, true);

const MASK = (1n << 64n) - 1n;
const P32_1 = 0x9e3779b1n;
const P32_2 = 0x85ebca77n;
const P32_3 = 0xc2b2ae3dn;
const P64_1 = 0x9e3779b185ebca87n;
const P64_2 = 0xc2b2ae3d27d4eb4fn;
const P64_3 = 0x165667b19e3779f9n;
const P64_4 = 0x85ebca77c2b2ae63n;
const P64_5 = 0x27d4eb2f165667c5n;
const MX1 = 0x165667919e3779f9n;
const MX2 = 0x9fb21c651e98df25n;

const secret64 = (at: number) => SECRET_VIEW.getBigUint64(at, true);
const mul = (a: bigint, b: bigint) => (a * b) & MASK;
const swap32 = (x: bigint) => {
  const n = Number(x & 0xffffffffn);
  return BigInt((((n & 0xff) << 24) | ((n & 0xff00) << 8) | ((n >>> 8) & 0xff00) | (n >>> 24)) >>> 0);
};
const swap64 = (x: bigint) => (swap32(x) << 32n) | swap32(x >> 32n);
const fold = (a: bigint, b: bigint) => {
  const product = a * b;
  return (product & MASK) ^ (product >> 64n);
};
const avalanche = (h: bigint) => {
  h ^= h >> 37n;
  h = mul(h, MX1);
  return h ^ (h >> 32n);
};
const avalanche64 = (h: bigint) => {
  h = mul(h ^ (h >> 33n), P64_2);
  h = mul(h ^ (h >> 29n), P64_3);
  return h ^ (h >> 32n);
};

type Hash = [low: bigint, high: bigint];

function upTo16(data: DataView): Hash {
  const n = data.byteLength;
  if (n === 0) return [avalanche64(secret64(64) ^ secret64(72)), avalanche64(secret64(80) ^ secret64(88))];
  if (n <= 3) {
    const [c1, c2, c3] = [data.getUint8(0), data.getUint8(n >> 1), data.getUint8(n - 1)].map(BigInt);
    const low = (c1 << 16n) | (c2 << 24n) | c3 | (BigInt(n) << 8n);
    const swapped = swap32(low);
    const high = ((swapped << 13n) | (swapped >> 19n)) & 0xffffffffn;
    const word = (at: number) => BigInt(SECRET_WORDS[at]);
    return [avalanche64(low ^ word(0) ^ word(4)), avalanche64(high ^ word(8) ^ word(12))];
  }
  if (n <= 8) {
    const input = BigInt(data.getUint32(0, true)) + (BigInt(data.getUint32(n - 4, true)) << 32n);
    const keyed = input ^ secret64(16) ^ secret64(24);
    const product = keyed * (P64_1 + (BigInt(n) << 2n));
    let low = product & MASK;
    let high = (product >> 64n) & MASK;
    high = (high + (low << 1n)) & MASK;
    low ^= high >> 3n;
    low ^= low >> 35n;
    low = mul(low, MX2);
    low ^= low >> 28n;
    return [low, avalanche(high)];
  }
  const flipLow = secret64(32) ^ secret64(40);
  const flipHigh = secret64(48) ^ secret64(56);
  const first = data.getBigUint64(0, true);
  let last = data.getBigUint64(n - 8, true);
  const product = ((first ^ last ^ flipLow) & MASK) * P64_1;
  let low = ((product & MASK) + (BigInt(n - 1) << 54n)) & MASK;
  let high = product >> 64n;
  last ^= flipHigh;
  high = (high + last + mul(last & 0xffffffffn, P32_2 - 1n)) & MASK;
  low ^= swap64(high);
  const second = low * P64_2;
  const outHigh = ((second >> 64n) + mul(high, P64_2)) & MASK;
  return [avalanche(second & MASK), avalanche(outHigh)];
}

const mix16 = (data: DataView, at: number, secret: number) =>
  fold(data.getBigUint64(at, true) ^ secret64(secret), data.getBigUint64(at + 8, true) ^ secret64(secret + 8));

function mix32([low, high]: Hash, data: DataView, a: number, b: number, secret: number): Hash {
  const sum = (at: number) => data.getBigUint64(at, true) + data.getBigUint64(at + 8, true);
  return [
    ((low + mix16(data, a, secret)) & MASK) ^ (sum(b) & MASK),
    ((high + mix16(data, b, secret + 16)) & MASK) ^ (sum(a) & MASK),
  ];
}

const finish = ([low, high]: Hash, length: number): Hash => [
  avalanche((low + high) & MASK),
  -avalanche((mul(low, P64_1) + mul(high, P64_4) + mul(BigInt(length), P64_2)) & MASK) & MASK,
];

function upTo240(data: DataView): Hash {
  const n = data.byteLength;
  let hash: Hash = [mul(BigInt(n), P64_1), 0n];
  if (n <= 128) {
    for (let i = (n - 1) >> 5; i >= 0; i--) hash = mix32(hash, data, 16 * i, n - 16 * (i + 1), 32 * i);
    return finish(hash, n);
  }
  for (let i = 32; i < 160; i += 32) hash = mix32(hash, data, i - 32, i - 16, i - 32);
  hash = [avalanche(hash[0]), avalanche(hash[1])];
  for (let i = 160; i <= n; i += 32) hash = mix32(hash, data, i - 32, i - 16, 3 + i - 160);
  hash = mix32(hash, data, n - 16, n - 32, 136 - 17 - 16);
  return finish(hash, n);
}

const STRIPE = 64;
const STRIPES = (SECRET.length - STRIPE) / 8;
const BLOCK = STRIPE * STRIPES;
const P32_1_NUMBER = 0x9e3779b1;

/** Takes content piece by piece; `digest` may be called once. */
export class Xxh3 {
  private readonly low = new Uint32Array(8);
  private readonly high = new Uint32Array(8);
  private readonly buffer = new Uint8Array(BLOCK + STRIPE);
  private held = 0;
  private length = 0;
  private readonly tail = new Uint8Array(STRIPE);

  constructor() {
    [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1].forEach((value, i) => {
      this.low[i] = Number(value & 0xffffffffn);
      this.high[i] = Number(value >> 32n);
    });
  }

  update(piece: Uint8Array) {
    this.length += piece.length;
    let at = 0;
    while (at < piece.length) {
      // A block is worked off when more follows: the last stripe is treated apart.
      if (this.held === BLOCK) this.block();
      const take = Math.min(BLOCK - this.held, piece.length - at);
      this.buffer.set(piece.subarray(at, at + take), this.held);
      this.held += take;
      at += take;
    }
  }

  private block() {
    const words = new Uint32Array(this.buffer.buffer, 0, BLOCK / 4);
    for (let s = 0; s < STRIPES; s++) this.accumulate(words, s * 16, s * 8);
    this.scramble();
    this.tail.set(this.buffer.subarray(BLOCK - STRIPE, BLOCK));
    this.held = 0;
  }

  private accumulate(words: Uint32Array, at: number, secret: number) {
    const { low, high } = this;
    for (let i = 0; i < 8; i++) {
      const dataLow = words[at + 2 * i];
      const dataHigh = words[at + 2 * i + 1];
      const keyLow = (dataLow ^ SECRET_WORDS[secret + 8 * i]) >>> 0;
      const keyHigh = (dataHigh ^ SECRET_WORDS[secret + 8 * i + 4]) >>> 0;
      // The other lane takes the data itself, this one the product of the halves of the key.
      const other = i ^ 1;
      let sum = low[other] + dataLow;
      low[other] = sum;
      high[other] = high[other] + dataHigh + (sum > 0xffffffff ? 1 : 0);
      const a = keyLow & 0xffff;
      const b = keyLow >>> 16;
      const c = keyHigh & 0xffff;
      const d = keyHigh >>> 16;
      const middle = b * c + ((a * c) >>> 16);
      const cross = a * d + (middle & 0xffff);
      const productLow = (((cross & 0xffff) << 16) | ((a * c) & 0xffff)) >>> 0;
      const productHigh = b * d + Math.floor(middle / 0x10000) + Math.floor(cross / 0x10000);
      sum = low[i] + productLow;
      low[i] = sum;
      high[i] = high[i] + productHigh + (sum > 0xffffffff ? 1 : 0);
    }
  }

  private scramble() {
    const { low, high } = this;
    for (let i = 0; i < 8; i++) {
      const at = SECRET.length - STRIPE + 8 * i;
      // acc ^= acc >> 47; acc ^= secret; acc *= PRIME32_1
      const l = (low[i] ^ (high[i] >>> 15) ^ SECRET_WORDS[at]) >>> 0;
      const h = (high[i] ^ SECRET_WORDS[at + 4]) >>> 0;
      const product = BigInt(l) * P32_1;
      low[i] = Number(product & 0xffffffffn);
      high[i] = Number(product >> 32n) + Math.imul(h, P32_1_NUMBER);
    }
  }

  /** 32 hexadecimal digits, as `xxhsum -H2` prints them. */
  digest(): string {
    const [low, high] = this.length <= 240 ? this.short() : this.long();
    return high.toString(16).padStart(16, "0") + low.toString(16).padStart(16, "0");
  }

  private short(): Hash {
    const data = new DataView(this.buffer.buffer, 0, this.length);
    return this.length <= 16 ? upTo16(data) : upTo240(data);
  }

  private long(): Hash {
    const words = new Uint32Array(this.buffer.buffer, 0, BLOCK / 4);
    const stripes = Math.floor((this.held - 1) / STRIPE);
    for (let s = 0; s < stripes; s++) this.accumulate(words, s * 16, s * 8);
    const last = new Uint8Array(STRIPE);
    if (this.held >= STRIPE) last.set(this.buffer.subarray(this.held - STRIPE, this.held));
    else {
      last.set(this.tail.subarray(this.held));
      last.set(this.buffer.subarray(0, this.held), STRIPE - this.held);
    }
    this.accumulate(new Uint32Array(last.buffer), 0, SECRET.length - STRIPE - 7);
    const acc = Array.from(this.low, (l, i) => (BigInt(this.high[i]) << 32n) | BigInt(l));
    const merge = (secret: number, start: bigint) => {
      let sum = start;
      for (let i = 0; i < 4; i++)
        sum += fold(acc[2 * i] ^ secret64(secret + 16 * i), acc[2 * i + 1] ^ secret64(secret + 16 * i + 8));
      return avalanche(sum & MASK);
    };
    const length = BigInt(this.length);
    return [merge(11, mul(length, P64_1)), merge(SECRET.length - STRIPE - 11, ~mul(length, P64_2) & MASK)];
  }
}
