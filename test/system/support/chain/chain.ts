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

/** Where clients of every chain look for it. */
const MULTICALL: Address = '0xcA11bde05977b3631167028862bE2a173976CA11';

/** Which variable of the contract the balances are. */
const BALANCES_SLOT = 4n;

/** viem's clients do not know this one. */
type AnvilDrop = { Method: 'anvil_dropAllTransactions'; Parameters?: undefined; ReturnType: null };

export interface ChainOptions {
  /** 84532 if left out, as on Base Sepolia. */
  readonly chainId?: number;
  /** A block each so many ms; each transaction at once in a block of its own if left out. */
  readonly blockTimeMs?: number;
  /** Of the token; 6 if left out. */
  readonly decimals?: number;
  /** Whether it has the contract that tells why a payment fails; true if left out. */
  readonly multicall?: boolean;
}

export interface TestChain extends AsyncDisposable {
  readonly url: string;
  readonly chainId: number;
  /** A stablecoin `USDC`, version `2`. */
  readonly token: Address;
  /** An operator's address, whose key nobody has. */
  readonly payTo: Address;
  /** Has 100 ether. */
  readonly gasKey: Hex;
  readonly gasAddress: Address;
  /** viem's, with all that anvil can do. */
  readonly client: ReturnType<typeof clientOf>;
  /** A new account with so many atomic units and 1 ether. Mines. */
  payer(balanceAtomic: bigint): Promise<PrivateKeyAccount>;
  balanceOf(address: string): Promise<bigint>;
  /** Transactions by the payer itself. They are mined when they resolve. */
  cancel(account: PrivateKeyAccount, nonce: Hex): Promise<Hex>;
  transfer(account: PrivateKeyAccount, to: Address, amount: bigint): Promise<Hex>;
  /** From now on the token moves nothing from or to this address. */
  block(address: Address): Promise<void>;
  /** Sends calls of a payer, or a contract's creation, and mines them. Resolves with the hash; throws when it reverts. */
  send(account: PrivateKeyAccount, call: { to?: Address; data: Hex }): Promise<{ hash: Hex; created: Address | null }>;
  /** Takes all that an account has, without a transaction. */
  empty(address: Address): Promise<void>;
  mine(blocks?: number): Promise<void>;
  /** Whether each transaction is mined at once. */
  automine(on: boolean): Promise<void>;
  /** Forgets the transactions that are not mined. */
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

/** Starts a chain with a stablecoin on it. Takes a fifth of a second. */
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
    // Nothing mines by itself while that is turned off.
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
      // An address in any case of letters.
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
