/**
 * An agent's wallet is named by its address: `0x` and 40 hexadecimal digits, here always in lower case. Where a balance is
 * concerned it stands in the place of a key's ID, which has at most 32 characters.
 */
const ADDRESS = /^0x[0-9a-f]{40}$/;

/** The address that a text is, in lower case; null for anything else. Checksums in capitals are not looked at. */
export function walletOf(text: string): string | null {
  const address = text.toLowerCase();
  return ADDRESS.test(address) ? address : null;
}

/** Whether the holder of a balance is a wallet rather than a key. */
export const isWallet = (holder: string): boolean => ADDRESS.test(holder);
