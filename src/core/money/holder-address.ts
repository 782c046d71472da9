import { keccak_256 } from '@noble/hashes/sha3';

/**
 * A wallet that holds a balance is named by its address: `0x` and 40 hexadecimal digits, always in lower case. Balances use the address
 * where they otherwise use the ID of a key, which has at most 32 characters.
 */
const ADDRESS = /^0x[0-9a-f]{40}$/;

/** The form of an address in the OpenAPI document. A pattern cannot check the checksum in the capital letters of an address. */
export const ADDRESS_PATTERN = '^0x[0-9a-fA-F]{40}$';

/** Describes the form of an address, for messages. */
export const ADDRESS_FORM =
  '0x and 40 hexadecimal digits, with letters of one case or with the capitals of their checksum (EIP-55)';

/**
 * Returns an address in lower case; null for any other text. An address in mixed case contains a checksum (EIP-55). If the checksum is
 * wrong, the address is mistyped, and the result is null.
 */
export function addressOf(text: string): string | null {
  const address = text.toLowerCase();
  if (!ADDRESS.test(address)) return null;
  const digits = text.slice(2);
  const isOfOneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase();
  return isOfOneCase || digits === checksummed(address.slice(2)) ? address : null;
}

/** Whether a text has the form of an address but a wrong checksum. */
export const isMistypedAddress = (text: string): boolean =>
  addressOf(text) === null && ADDRESS.test(text.toLowerCase());

/** Whether the holder of a balance is a wallet address rather than a key. */
export const isAddress = (holder: string): boolean => ADDRESS.test(holder);

/**
 * Checks that an address is in lower case. Another spelling would name a payer without a balance, and so without a limit.
 * @throws RangeError for any other text, which is a bug in Signalbox
 */
export function checkedHolder(wallet: string): string {
  if (!isAddress(wallet)) throw new RangeError(`not the address of a wallet in lower case: ${wallet}`);
  return wallet;
}

/**
 * Writes the digits of an address with the capital letters of EIP-55: a letter is a capital if the hash has a digit of 8 or more at its
 * position.
 */
function checksummed(digits: string): string {
  const hash = keccak_256(digits);
  return [...digits]
    .map((digit, at) => (((hash[at >> 1]! >> (at % 2 === 0 ? 4 : 0)) & 15) > 7 ? digit.toUpperCase() : digit))
    .join('');
}
