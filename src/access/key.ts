import { hash } from 'node:crypto';

/** The parts of `sb_live_<id>_<secret>`. */
export interface KeyParts {
  /** The public part, which names the key in lists and logs. */
  readonly id: string;
  /** The secret part, in base64url. */
  readonly secret: string;
}

/** Digits and lower-case letters without those that are easily confused (0 o, 1 l). */
const ID_ALPHABET = '23456789abcdefghijkmnpqrstuvwxyz';
const ID_LENGTH = 12;
/** 256 random bits: 43 base64url characters. */
export const SECRET_BYTES = 32;
/** 22 base64url characters can contain 128 random bits. */
const SECRET_LENGTH_MIN = 22;
/** Longer than any key. Longer texts are not hashed, so that they cost nothing. */
export const KEY_LENGTH_MAX = 256;

const PREFIX = 'sb_live_';
/** The secret may contain `_`, the ID may not. The first `_` after the prefix separates them. */
const FORM = /^sb_live_[0-9a-z]{1,32}_[0-9A-Za-z_-]+$/;

/** The form of the public part. */
const ID_FORM = /^[0-9a-z]{1,32}$/;

const BEARER = /^bearer /i;
const SPACES = /^ +/;

/** Returns the key in an `Authorization` header; null for another scheme. */
export function bearerOf(header: string): string | null {
  return BEARER.test(header) ? header.slice('bearer '.length).replace(SPACES, '') : null;
}

/** Whether a text begins like a key. */
export const looksLikeKey = (text: string): boolean => text.startsWith(PREFIX);

/** Whether a text can be the ID of a key. */
export const isKeyId = (text: string): boolean => ID_FORM.test(text);

/** Parses a key; null if the text does not have the form of a key. Does not check whether the key is valid. */
export function parseKey(text: string): KeyParts | null {
  if (text.length > KEY_LENGTH_MAX || !FORM.test(text)) return null;
  const end = text.indexOf('_', PREFIX.length);
  return { id: text.slice(PREFIX.length, end), secret: text.slice(end + 1) };
}

/** A key of another gateway. Headers and queries can contain only these characters. */
const FOREIGN_FORM = new RegExp(String.raw`^[\x21-\x7e]{1,${KEY_LENGTH_MAX}}$`);

/** Whether a text can be a key of another gateway, which is found by its hash. */
export const canBeForeign = (text: string): boolean => FOREIGN_FORM.test(text);

/** Returns the secret part of a key: all of it, if it does not have the form of a Signalbox key. */
export const secretOf = (key: string): string => parseKey(key)?.secret ?? key;

/** Whether the secret is long enough for 128 random bits. */
export function isStrong(parts: KeyParts): boolean {
  return parts.secret.length >= SECRET_LENGTH_MIN;
}

/** Creates a key from 44 random bytes: 12 for the ID (5 bits of each are used), 32 for the secret. */
export function newKey(): string {
  const random = crypto.getRandomValues(new Uint8Array(ID_LENGTH + SECRET_BYTES));
  let id = '';
  for (let i = 0; i < ID_LENGTH; i++) id += ID_ALPHABET[random[i]! % ID_ALPHABET.length];
  return keyOf(id, random.subarray(ID_LENGTH));
}

/** Creates a key from an ID and 32 random bytes. */
export function keyOf(id: string, random: Uint8Array): string {
  if (random.length !== SECRET_BYTES) throw new RangeError('a secret needs exactly 32 random bytes');
  return `sb_live_${id}_${Buffer.from(random).toString('base64url')}`;
}

/** A single unsalted SHA-256 is enough: secrets with at least 128 random bits cannot be guessed. */
export function hashOf(key: string): Uint8Array {
  return hash('sha256', key, 'buffer');
}
