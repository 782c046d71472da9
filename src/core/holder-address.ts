import { keccak_256 } from '@noble/hashes/sha3';

/**
 * A holder of funds that is no key is named by an address: `0x` and 40 hexadecimal digits, here always in lower case. Where a balance is
 * concerned it stands in the place of a key's ID, which has at most 32 characters.
 */
const ADDRESS = /^0x[0-9a-f]{40}$/;

/** The form of an address in the API's document. No pattern can check the checksum of its capitals. */
export const ADDRESS_PATTERN = '^0x[0-9a-fA-F]{40}$';

/** The form of an address, for messages. */
export const ADDRESS_FORM =
  '0x and 40 hexadecimal digits, with letters of one case or with the capitals of their checksum (EIP-55)';

/**
 * The address that a text is, in lower case; null for anything else. Letters of both cases are a checksum, as its owners see
 * it: one that does not fit is a mistyped address.
 */
export function addressOf(text: string): string | null {
  const address = text.toLowerCase();
  if (!ADDRESS.test(address)) return null;
  const digits = text.slice(2);
  const isOfOneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase();
  return isOfOneCase || digits === checksummed(address.slice(2)) ? address : null;
}

/** Whether a text is an address but for its checksum. */
export const isMistypedAddress = (text: string): boolean =>
  addressOf(text) === null && ADDRESS.test(text.toLowerCase());

/** Whether the holder of a balance is an address rather than a key. */
export const isAddress = (holder: string): boolean => ADDRESS.test(holder);

/**
 * Another spelling of an address would name a payer without a balance, and so without a limit.
 * @throws RangeError for anything but an address in lower case, a mistake in the program
 */
export function checkedHolder(wallet: string): string {
  if (!isAddress(wallet)) throw new RangeError(`not the address of a wallet in lower case: ${wallet}`);
  return wallet;
}

/** The digits of an address, in lower case, with the capitals of EIP-55: where the hash of them has a digit from 8. */
function checksummed(digits: string): string {
  const hash = keccak_256(digits);
  return [...digits]
    .map((digit, at) => (((hash[at >> 1]! >> (at % 2 === 0 ? 4 : 0)) & 15) > 7 ? digit.toUpperCase() : digit))
    .join('');
}
