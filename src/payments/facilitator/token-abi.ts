import { type Hex, parseAbi, parseAbiItem, toEventSelector } from 'viem';

/** The functions and events of a stablecoin: ERC-20 with EIP-3009, and its EIP-712 domain. */
export const TOKEN_ABI = parseAbi([
  'function decimals() view returns (uint8)',
  'function balanceOf(address owner) view returns (uint256)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);

export const USED = toEventSelector(
  parseAbiItem('event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)'),
);
export const CANCELED = toEventSelector(
  parseAbiItem('event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)'),
);

/** Converts an address or nonce whose form was already checked. */
export const hex = (text: string): Hex => text.toLowerCase() as Hex;
