import { writeFileSync } from 'node:fs';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { startChain } from './chain.ts';
import { TOKEN_ABI } from './token-abi.ts';

/**
 * `npm run chain -- FILE` runs a chain on this machine to try payments, until Ctrl-C. The command writes the policy of a gateway that takes
 * payments on the chain to FILE, which must not exist, and prints the environment variables for the gateway and an agent.
 */
const file = process.argv[2];
if (file === undefined) {
  console.error('npm run chain -- FILE: name the policy file to write, such as policies/payments.yaml.');
  process.exit(1);
}
const chain = await startChain();
const { client, token, payTo, gasKey, url, chainId } = chain;
const wallet = generatePrivateKey();
const { address } = privateKeyToAccount(wallet);
const gas = privateKeyToAccount(gasKey);
const mint = { address: token, abi: TOKEN_ABI, functionName: 'mint', args: [address, 20_000_000n] } as const;
await client.writeContract({ ...mint, account: gas });

const policy = `# A chain of this machine, by \`npm run chain\`: nothing on it is worth anything.
payments:
  x402:
    enabled: true
    networks:
      - id: eip155:${chainId}
        asset: { address: "${token}", name: USDC }
        pay_to: "${payTo}"
        rpc_urls: ["${url}"]
        facilitator: { mode: local, private_key_env: X402_GAS_KEY }
`;
try {
  writeFileSync(file, policy, { flag: 'wx' });
} catch (cause) {
  console.error(`${file} could not be written: ${cause instanceof Error ? cause.message : String(cause)}`);
  await chain.stop();
  process.exit(1);
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => void chain.stop().then(() => process.exit(0)));
}
console.log(`# ${file} is written. For the gateway:
export X402_GAS_KEY=${gasKey}
# For the agent, whose wallet ${address} has 20 USD:
export WALLET_KEY=${wallet} PAY_IN=${token}
# The chain is at ${url}, until this program ends (Ctrl-C); then remove ${file}.`);
