import {
  type Address,
  createTestClient,
  encodeAbiParameters,
  type Hex,
  http,
  keccak256,
  pad,
  parseEther,
  publicActions,
  walletActions,
} from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { startAnvil } from './anvil.ts';
import { contract } from './compile.ts';
import { TOKEN_ABI } from './token-abi.ts';

/** The address at which clients of every chain expect this contract. */
const MULTICALL: Address = '0xcA11bde05977b3631167028862bE2a173976CA11';

/** The storage slot of the contract's balances. */
const BALANCES_SLOT = 4n;

/** viem's clients do not have this method. */
type AnvilDrop = { Method: 'anvil_dropAllTransactions'; Parameters?: undefined; ReturnType: null };

export interface ChainOptions {
  /** 84532 by default, as on Base Sepolia. */
  readonly chainId?: number;
  /** The time between blocks, ms; by default each transaction gets its own block at once. */
  readonly blockTimeMs?: number;
  /** Decimals of the token; 6 by default. */
  readonly decimals?: number;
  /** Whether the chain has the contract that explains failed payments; true by default. */
  readonly multicall?: boolean;
}

export interface TestChain extends AsyncDisposable {
  readonly url: string;
  readonly chainId: number;
  /** A stablecoin `USDC`, version `2`. */
  readonly token: Address;
  /** An operator's address whose private key does not exist. */
  readonly payTo: Address;
  /** A private key whose account has 100 ether. */
  readonly gasKey: Hex;
  readonly gasAddress: Address;
  /** viem's client, with all methods of anvil. */
  readonly client: ReturnType<typeof clientOf>;
  /** Makes a new account with this many atomic units and 1 ether. Mines a block. */
  payer(balanceAtomic: bigint): Promise<PrivateKeyAccount>;
  balanceOf(address: string): Promise<bigint>;
  /** Sends a transaction of the payer itself that cancels an authorization. The promise resolves once the transaction is mined. */
  cancel(account: PrivateKeyAccount, nonce: Hex): Promise<Hex>;
  transfer(account: PrivateKeyAccount, to: Address, amount: bigint): Promise<Hex>;
  /** From now on the token refuses transfers from or to this address. */
  block(address: Address): Promise<void>;
  /** Sends a payer's call, or creates a contract, and mines it. Resolves with the hash; throws if it reverts. */
  send(account: PrivateKeyAccount, call: { to?: Address; data: Hex }): Promise<{ hash: Hex; created: Address | null }>;
  /** Removes the whole balance of an account, without a transaction. */
  empty(address: Address): Promise<void>;
  mine(blocks?: number): Promise<void>;
  /** Sets whether each transaction is mined at once. */
  automine(on: boolean): Promise<void>;
  /** Forgets the transactions that are not mined yet. */
  dropTransactions(): Promise<void>;
  stop(): Promise<void>;
}

const chainOf = (id: number, url: string) =>
  ({
    id,
    name: 'test',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  }) as const;

const clientOf = (id: number, url: string) =>
  createTestClient({
    mode: 'anvil',
    chain: chainOf(id, url),
    transport: http(url, { timeout: 60_000 }),
    pollingInterval: 20,
  })
    .extend(publicActions)
    .extend(walletActions);

/** Starts a chain with a stablecoin. Takes a fifth of a second. */
export async function startChain(options: ChainOptions = {}): Promise<TestChain> {
  const { chainId = 84_532, blockTimeMs, decimals = 6, multicall = true } = options;
  const anvil = await startAnvil(chainId);
  const client = clientOf(chainId, anvil.url);
  const creator = await funded(client);
  const gasKey = generatePrivateKey();
  const gasAddress = privateKeyToAccount(gasKey).address;
  await client.setBalance({ address: gasAddress, value: parseEther('100') });
  if (multicall) await client.setCode({ address: MULTICALL, bytecode: contract('Multicall')?.deployed ?? '0x' });

  const sent = async (hash: Hex) => {
    // While automatic mining is off, the function must mine a block.
    if (!(await client.getAutomine())) await client.mine({ blocks: 1 });
    const receipt = await client.waitForTransactionReceipt({ hash });
    if (receipt.status !== 'success') throw new Error(`The transaction ${hash} was reverted.`);
    return { hash, created: receipt.contractAddress ?? null };
  };
  const { created } = await sent(
    await client.deployContract({
      account: creator,
      abi: TOKEN_ABI,
      bytecode: contract('Token')?.bytecode ?? '0x',
      args: ['USDC', '2', decimals],
    }),
  );
  if (created === null) throw new Error('The token was not created.');
  const token = created;
  const write = { address: token, abi: TOKEN_ABI } as const;
  const blocks = blockTimeMs === undefined ? null : setInterval(() => void client.mine({ blocks: 1 }), blockTimeMs);
  if (blocks) await client.setAutomine(false);

  const stop = async () => {
    if (blocks) clearInterval(blocks);
    await anvil.stop();
  };
  return {
    url: anvil.url,
    chainId,
    token,
    payTo: privateKeyToAccount(generatePrivateKey()).address,
    gasKey,
    gasAddress,
    client,
    async payer(balanceAtomic) {
      const account = await funded(client);
      const args = [account.address, balanceAtomic] as const;
      await sent(await client.writeContract({ ...write, account, functionName: 'mint', args }));
      return account;
    },
    balanceOf: (address) =>
      // Accepts an address in any letter case.
      client.readContract({ ...write, functionName: 'balanceOf', args: [address.toLowerCase() as Address] }),
    async cancel(account, nonce) {
      const signature = await account.signTypedData({
        domain: { name: 'USDC', version: '2', chainId, verifyingContract: token },
        types: {
          CancelAuthorization: [
            { name: 'authorizer', type: 'address' },
            { name: 'nonce', type: 'bytes32' },
          ],
        },
        primaryType: 'CancelAuthorization',
        message: { authorizer: account.address, nonce },
      });
      const args = [account.address, nonce, signature] as const;
      return (await sent(await client.writeContract({ ...write, account, functionName: 'cancelAuthorization', args })))
        .hash;
    },
    async transfer(account, to, amount) {
      const args = [to, amount] as const;
      return (await sent(await client.writeContract({ ...write, account, functionName: 'transfer', args }))).hash;
    },
    async block(address) {
      await sent(
        await client.writeContract({ ...write, account: creator, functionName: 'blocklist', args: [address] }),
      );
    },
    send: async (account, call) => sent(await client.sendTransaction({ account, ...call })),
    async empty(address) {
      const slot = keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [address, BALANCES_SLOT]));
      await client.setStorageAt({ address: token, index: slot, value: pad('0x0') });
    },
    mine: (count = 1) => client.mine({ blocks: count }),
    automine: (on) => client.setAutomine(on),
    dropTransactions: async () => void (await client.request<AnvilDrop>({ method: 'anvil_dropAllTransactions' })),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function funded(client: ReturnType<typeof clientOf>): Promise<PrivateKeyAccount> {
  const account = privateKeyToAccount(generatePrivateKey());
  await client.setBalance({ address: account.address, value: parseEther('1') });
  return account;
}
