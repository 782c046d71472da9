import type { PaymentNetwork } from '../../core/policy/payments.ts';
import { registerSecrets } from '../../host/telemetry/secrets.ts';
import { openChain } from './chain.ts';
import type { Chain, Facilitator, NetworkClients, NetworkHost } from './facilitator.ts';
import { checkAddress, gasAccount, variable } from './gas-account.ts';
import { GasKey } from './gas-key.ts';
import { localFacilitator } from './local.ts';
import { type Nodes, openNodes } from './nodes.ts';
import { RemoteFacilitator } from './remote.ts';

/** Opens a network like `OpenNetwork`, but synchronously. */
export default function open(policy: PaymentNetwork, host: NetworkHost): NetworkClients {
  const { id, asset, payTo } = policy;
  checkAddress(asset.address, `the asset of the network ${id}`);
  checkAddress(payTo, `\`pay_to\` of the network ${id}`);
  const urls = nodeUrls(policy, host);
  const nodes = openNodes(policy.chainId, urls);
  const chain = openChain(policy, nodes);
  return { chain, facilitator: openFacilitator(policy, host, { urls, nodes, chain }) };
}

interface NetworkParts {
  readonly urls: readonly string[];
  readonly nodes: Nodes;
  readonly chain: Chain;
}

function openFacilitator(policy: PaymentNetwork, host: NetworkHost, { urls, nodes, chain }: NetworkParts): Facilitator {
  const { id, facilitator } = policy;
  if (facilitator.mode === 'local') {
    const { privateKeyEnv, gasAlarmWei, confirmationTimeoutMs } = facilitator;
    const account = gasAccount(policy, privateKeyEnv, urls, host);
    const { now, onAlarm, gasNonces: nonces } = host;
    const gasKey = new GasKey({ account, nodes, nonces, alarmWei: gasAlarmWei, now, onAlarm });
    return localFacilitator({ nodes, chain, gasKey, host, confirmationTimeoutMs });
  }
  const { url, timeoutMs, bearerEnv } = facilitator;
  const bearer =
    bearerEnv === null ? null : variable(bearerEnv, `the token for the facilitator of the network ${id}`, host);
  registerSecrets([bearer]);
  if (bearer !== null && /[^\x21-\x7e]/.test(bearer)) {
    throw new Error(
      `The environment variable ${bearerEnv} does not hold a token: it has spaces or characters outside ASCII.`,
    );
  }
  return new RemoteFacilitator({ nodes, chain, host, url, timeoutMs, bearer });
}

/** The addresses of the nodes. Addresses in an environment variable may contain keys. */
function nodeUrls({ id, rpcUrls, rpcUrlsEnv }: PaymentNetwork, host: NetworkHost): readonly string[] {
  if (rpcUrlsEnv === null) return rpcUrls;
  const text = variable(rpcUrlsEnv, `the nodes of the network ${id}`, host);
  const urls = text
    .split(',')
    .map((url) => url.trim())
    .filter((url) => url !== '');
  if (urls.length === 0 || !urls.every(isHttp)) {
    throw new Error(
      `The environment variable ${rpcUrlsEnv} must hold the http:// or https:// addresses of nodes, separated by commas.`,
    );
  }
  for (const url of urls) registerSecrets(keysIn(new URL(url)));
  return urls;
}

const isHttp = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);

/** The parts of an address that may be keys. */
const keysIn = ({ username, password, pathname, searchParams }: URL): readonly string[] =>
  [username, password, ...pathname.split('/'), ...searchParams.values()].filter((part) => part.length >= 16);
