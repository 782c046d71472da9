/** Test networks: chain ID → name. */
export const TEST_CHAINS: ReadonlyMap<number, string> = new Map([
  [84_532, 'Base Sepolia'],
  [11_155_111, 'Sepolia'],
  [11_155_420, 'OP Sepolia'],
  [421_614, 'Arbitrum Sepolia'],
  [80_002, 'Polygon Amoy'],
  [43_113, 'Avalanche Fuji'],
  [31_337, 'a local chain'],
  [1337, 'a local chain'],
]);

/** The properties of a token by its contract. */
interface Token {
  /** Common name. */
  readonly title: string;
  readonly name: string;
  readonly version: string;
  readonly decimals: number;
}

/** Tokens by lower-case address, on any chain, because a local chain may be a copy of a public one. */
export const TOKENS: ReadonlyMap<string, Token> = new Map([
  [
    '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
    { title: 'USDC of Base', name: 'USD Coin', version: '2', decimals: 6 },
  ],
  [
    '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
    { title: 'USDC of Base Sepolia', name: 'USDC', version: '2', decimals: 6 },
  ],
]);
