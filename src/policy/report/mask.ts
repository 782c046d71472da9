import { SECRET_SHAPES } from '../../core/text/secret-shapes.ts';

const LOOKS = new RegExp(SECRET_SHAPES, 'g');
const CREDENTIALS_IN_URL = /(?<=:\/\/)[^/\s@:]*:[^/\s@]+(?=@)/g;
/** A private key of a blockchain, or a hash, which looks the same. Signalbox masks private keys and hashes. */
const PRIVATE_KEY = /(?:0x)?[0-9a-f]{64,}/gi;

const mask = (text: string) => '*'.repeat(text.length);

/** Replaces everything that looks like a key by asterisks of the same length. */
export function maskSecrets(text: string): string {
  return maskSecretShapes(text).replace(PRIVATE_KEY, mask);
}

/** Masks secrets like `maskSecrets`, but keeps hexadecimal digits that may be a private key of a blockchain. */
export const maskSecretShapes = (text: string): string => text.replace(LOOKS, mask).replace(CREDENTIALS_IN_URL, mask);
