import { SECRET_SHAPES } from '../core/secret-shapes.ts';

const LOOKS = new RegExp(SECRET_SHAPES, 'g');
const CREDENTIALS_IN_URL = /(?<=:\/\/)[^/\s@:]*:[^/\s@]+(?=@)/g;
/** A private key of a chain, or a hash: both are masked. */
const PRIVATE_KEY = /(?:0x)?[0-9a-f]{64,}/gi;

const mask = (text: string) => '*'.repeat(text.length);

/** Replaces everything that looks like a key by as many asterisks. */
export function maskSecrets(text: string): string {
  return maskSecretShapes(text).replace(PRIVATE_KEY, mask);
}

/** As `maskSecrets`, but keeps digits that may be a private key of a chain. */
export const maskSecretShapes = (text: string): string => text.replace(LOOKS, mask).replace(CREDENTIALS_IN_URL, mask);
