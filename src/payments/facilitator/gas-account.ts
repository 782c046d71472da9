import type { Hex } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { addressOf } from '../../core/money/holder-address.ts';
import { isLoopbackHost } from '../../core/net/loopback.ts';
import type { PaymentNetwork } from '../../core/policy/payments.ts';
import { registerSecrets } from '../../host/telemetry/secrets.ts';
import type { NetworkHost } from './facilitator.ts';

/** The public accounts of development chains, from the phrase that ends in `junk`. Anyone can steal what they own on other chains. */
const WELL_KNOWN = new Set([
  '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
  '0x70997970c51812dc3a010c7d01b50e0d17dc79c8',
  '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc',
  '0x90f79bf6eb2c4f870365e785982e1f101e93b906',
  '0x15d34aaf54267db7d7c367839aaf71a00a2c6a65',
  '0x9965507d1a55bcc2695c58ba16fb37d819b0a4dc',
  '0x976ea74026e726554db657fa54763abd0c3a0aa9',
  '0x14dc79964da2c08b23698b3d3cc7ca32193d9955',
  '0x23618e81e3f5cdf7f54c3d65f7fbc0abf5b21e8f',
  '0xa0ee7a142d267c1f36714e4a8f75612f20a79720',
  '0xbcd4042de499d14e55001ccbb24a551f3b954096',
  '0x71be63f3384f5fb98995898a86b02fb2426c5788',
  '0xfabb0ac9d68b0b445fb7357272ff202c5651694a',
  '0x1cbd3b2770909d4e10f157cabc84c7264073c9ec',
  '0xdf3e18d64bc6a983f673ab319ccae4f1a57c7097',
  '0xcd3b766ccdd6ae721141f452c550ca635964ce71',
  '0x2546bcd3c84621e976d8185a91a922ae77ecec30',
  '0xbda5747bfd65f08deb54cb465eb87d40e51b197e',
  '0xdd2fd4581271e230360230f9337d5c0430bf44c0',
  '0x8626f6940e2eb28930efb4cef49b2d1f2c9c1199',
]);

/**
 * Reads an environment variable.
 * @throws an Error of one sentence if it is not set
 */
export function variable(name: string, what: string, { env }: Pick<NetworkHost, 'env'>): string {
  const value = env(name)?.trim() ?? '';
  if (value === '') throw new Error(`The environment variable ${name} is not set. It must hold ${what}.`);
  return value;
}

/**
 * Returns the account that pays for transactions.
 * @throws an Error of one sentence that does not contain the variable's value
 */
export function gasAccount(
  { id }: PaymentNetwork,
  name: string,
  urls: readonly string[],
  host: Pick<NetworkHost, 'env'>,
): PrivateKeyAccount {
  const key = variable(name, `the gas key of the network ${id}`, host);
  registerSecrets([key, key.replace(/^0x/i, '')]);
  const account = accountOf(key);
  if (account === null) {
    throw new Error(
      `The environment variable ${name} does not hold a private key, which is 0x and 64 hexadecimal digits.`,
    );
  }
  if (WELL_KNOWN.has(account.address.toLowerCase()) && !urls.every(isLoopback)) {
    throw new Error(
      `The environment variable ${name} holds a publicly known test key. Use it only with a network on this machine, which ${id} is not.`,
    );
  }
  return account;
}

function accountOf(key: string): PrivateKeyAccount | null {
  if (!/^0x[0-9a-fA-F]{64}$/.test(key)) return null;
  try {
    return privateKeyToAccount(key as Hex);
  } catch {
    // The value of the key is 0, or larger than the order of the curve.
    return null;
  }
}

const isLoopback = (url: string): boolean => isLoopbackHost(new URL(url).hostname);

/** @throws an Error of one sentence for a mixed-case address with a wrong checksum, because a digit may be wrong */
export function checkAddress(address: string, what: string): void {
  if (addressOf(address) !== null) return;
  throw new Error(`The address ${address} of ${what} is mistyped: its letter case does not match its checksum.`);
}
