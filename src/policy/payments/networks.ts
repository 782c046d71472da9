import type { Decimal } from '../../core/money/decimal.ts';
import { ADDRESS_FORM, addressOf } from '../../core/money/holder-address.ts';
import type { FacilitatorPolicy, PaymentAsset, PaymentNetwork } from '../../core/policy/payments.ts';
import { type Subject, validPartsOf } from '../check/check.ts';
import { checkExcluded, checkNeeded } from '../check/key-rules.ts';
import { emptyMap } from '../check/section-checks.ts';
import { figureAt, rateOf, unitsOf } from '../check/usd.ts';
import { ADDRESS, normalUrl, refuseForbidden } from '../providers/addresses.ts';
import { listNames } from '../report/nearest.ts';
import type { Report } from '../report/report.ts';
import { entryOf, placeAt, type Tree, valueAt } from '../yaml/tree.ts';
import { ADDRESS_PATTERN, AssetText, FACILITATOR_KEYS, FacilitatorText, NetworkText } from './schema.ts';

/** A payment network to check. The data of the network is null if it does not satisfy its schema, which was already reported. */
interface NetworkSubject extends Subject {
  readonly data: NetworkText | null;
}

interface NetworkContext {
  readonly allowsMainnet: boolean;
  readonly usdPerCredit: Decimal;
  readonly report: Report;
}

/**
 * Checks the parts of a payment network that the schema cannot express. `draftNetwork` returns null if anything in the network is wrong.
 */
export function draftNetwork(given: NetworkSubject, scope: NetworkContext): PaymentNetwork | null {
  const { data, tree } = given;
  const { report } = scope;
  const { id } = data ?? validPartsOf(NetworkText, tree);
  const chainId = id === undefined ? null : Number(id.slice('eip155:'.length));
  const isMainnet = chainId !== null && !TEST_CHAINS.has(chainId);
  if (isMainnet && !scope.allowsMainnet) refuseMainnet(`${id}`, placeAt(tree, 'id'), report);
  checkReceivers(given, report);
  checkToken(given, report);
  const rpcUrls = readNodes(given, report);
  const facilitator = readFacilitator(given, isMainnet, report);
  if (!data || chainId === null || !rpcUrls || !facilitator) return null;
  const { decimals, ...asset } = data.asset;
  return {
    id: data.id,
    chainId,
    asset: { ...asset, decimals },
    payTo: data.pay_to,
    rpcUrls,
    rpcUrlsEnv: data.rpc_urls_env ?? null,
    facilitator,
    rate: rateOf(scope.usdPerCredit, decimals),
  };
}

function refuseMainnet(id: string, place: Tree['place'], report: Report): void {
  const known = [...TEST_CHAINS].map(([chain, name]) => `eip155:${chain} (${name})`);
  const message = `\`${id}\` is not a known test network, so payments there may be real money`;
  const expected = `\`allow_mainnet: true\` next to \`networks\`, or one of ${known.join(', ')}`;
  report.add('mainnet-not-allowed', place, message, { expected });
}

const FORM = new RegExp(ADDRESS_PATTERN);
const ZERO = `0x${'0'.repeat(40)}`;

/** Reports addresses at which payments would be lost. */
function checkReceivers({ path, tree }: NetworkSubject, report: Report): void {
  const asset = walletAt(tree, 'asset', 'address');
  const payTo = walletAt(tree, 'pay_to');
  if (asset === null) refuseChecksum(`${path}.asset.address`, valueAt(tree, 'asset', 'address'), report);
  if (payTo === null) refuseChecksum(`${path}.pay_to`, valueAt(tree, 'pay_to'), report);
  if (asset === ZERO) {
    const message = `\`${path}.asset.address\` is the zero address, which holds no token`;
    report.add('pays-nobody', placeAt(tree, 'asset', 'address'), message, {
      expected: "the address of the token's contract",
    });
  }
  if (payTo === null || (payTo !== ZERO && payTo !== asset)) return;
  const owner = payTo === ZERO ? 'the zero address' : "the token's contract";
  report.add('pays-nobody', placeAt(tree, 'pay_to'), `\`${path}.pay_to\` is ${owner}, so payments to it are lost`, {
    expected: 'an address whose private key you hold',
  });
}

/** Reports an address with the right form but a wrong checksum. */
function refuseChecksum(path: string, tree: Tree | undefined, report: Report): void {
  if (tree?.kind !== 'scalar' || !FORM.test(String(tree.value))) return;
  const message = `\`${path}\` is mistyped: its capital letters do not match its checksum`;
  report.add('bad-form', tree.place, message, { expected: ADDRESS_FORM });
}

function walletAt(tree: Tree, ...steps: readonly string[]): string | null {
  const at = valueAt(tree, ...steps);
  return at?.kind === 'scalar' && typeof at.value === 'string' ? addressOf(at.value) : null;
}

/** Reports properties of a known token that differ from the properties of its contract. */
function checkToken({ path, tree: network }: NetworkSubject, report: Report): void {
  const tree = valueAt(network, 'asset');
  const token = TOKENS.get(walletAt(network, 'asset', 'address') ?? '');
  if (!tree || !token) return;
  const asset = validPartsOf(AssetText, tree);
  for (const key of ['name', 'version', 'decimals'] as const) {
    const found = asset[key];
    const right = token[key];
    if (found === undefined || found === right) continue;
    const message = `\`${path}.asset.${key}\` is ${JSON.stringify(found)}, but this address is ${token.title}`;
    report.add('token-differs', placeAt(tree, key), message, {
      expected: `\`${key}: ${JSON.stringify(right)}\``,
      hint:
        key === 'decimals'
          ? 'wrong decimals make every price wrong by a power of ten'
          : 'payers sign the name and version of the token, so no signature is valid with other values',
    });
  }
}

/** Returns the stated URLs of nodes: empty if an environment variable holds them, null if a URL is wrong. */
function readNodes(given: NetworkSubject, report: Report): readonly string[] | null {
  const { path, tree } = given;
  const list = valueAt(tree, 'rpc_urls');
  const hint =
    'list the URLs of nodes of the chain, from which Signalbox reads payments; if a URL contains a key, put the URLs into an environment variable and name it in `rpc_urls_env`';
  checkNeeded(NetworkText, given, report, hint);
  checkExcluded(NetworkText, given, report);
  if (list?.kind !== 'list') return list ? null : [];
  const urls = list.items.map((item, at) => urlOf(item, `\`${path}.rpc_urls[${at}]\``, report));
  const right = urls.filter((url) => url !== null);
  return right.length < urls.length ? null : right;
}

/** Messages about a node do not show its URL, because the URL may contain a key. */
function urlOf(tree: Tree | undefined, what: string, report: Report): string | null {
  if (tree?.kind !== 'scalar' || typeof tree.value !== 'string') return null;
  const url = normalUrl(tree.value);
  if (url === null) report.add('bad-form', tree.place, `${what} is not a URL`, ADDRESS);
  else refuseForbidden(url, what, tree.place, report);
  return url;
}

const WEI_DECIMALS = 18;

function readFacilitator({ path: owner, tree: network }: NetworkSubject, isMainnet: boolean, report: Report) {
  const entry = entryOf(network, 'facilitator');
  const tree = entry?.value ?? emptyMap(network.place);
  const path = `${owner}.facilitator`;
  const text = validPartsOf(FacilitatorText, tree);
  const { mode } = text;
  if (!entry || mode === undefined) return null;
  const other = mode === 'local' ? 'http' : 'local';
  for (const key of FACILITATOR_KEYS[other]) {
    const foreign = entryOf(tree, key);
    if (!foreign) continue;
    const message = `\`${path}.${key}\` works only with \`mode: ${other}\`, but the mode is \`${mode}\``;
    report.add('conflicting-keys', foreign.place, message, {
      expected: `only ${listNames(FACILITATOR_KEYS[mode])} in addition to \`mode\``,
    });
  }
  const [needed] = FACILITATOR_KEYS[mode];
  if (!valueAt(tree, needed)) {
    report.add('missing-key', entry.place, `\`${path}\` needs the key \`${needed}\` with \`mode: ${mode}\``, {
      hint: `\`${needed}\`: ${FacilitatorText.properties[needed].description}`,
    });
  }
  if (mode === 'local') return localOf(tree, text, path, report);
  if (isMainnet && !valueAt(tree, 'bearer_env')) {
    report.add('facilitator-without-token', placeAt(tree, 'mode'), `\`${path}\` has no \`bearer_env\``, {
      hint: 'services that settle real money require a token: put it into an environment variable and name that in `bearer_env`',
    });
  }
  return httpOf(tree, text, path, report);
}

type FacilitatorParts = ReturnType<typeof validPartsOf<typeof FacilitatorText>>;

function localOf(tree: Tree, text: FacilitatorParts, path: string, report: Report): FacilitatorPolicy | null {
  const { private_key_env: privateKeyEnv, confirmation_timeout_ms: confirmationTimeoutMs, gas_alarm_eth } = text;
  const alarm = figureAt(tree, 'gas_alarm_eth', gas_alarm_eth, report);
  const gasAlarmWei = alarm && unitsOf(WEI_DECIMALS, alarm);
  if (alarm && gasAlarmWei === null) {
    const message = `\`${path}.gas_alarm_eth\` has more than ${WEI_DECIMALS} decimals`;
    report.add('bad-form', placeAt(tree, 'gas_alarm_eth'), message, {
      expected: 'at most 18 decimals, a whole number of wei',
    });
  }
  if (privateKeyEnv === undefined || confirmationTimeoutMs === undefined || gasAlarmWei === null) return null;
  return { mode: 'local', privateKeyEnv, confirmationTimeoutMs, gasAlarmWei };
}

function httpOf(tree: Tree, text: FacilitatorParts, path: string, report: Report): FacilitatorPolicy | null {
  const { timeout_ms: timeoutMs, bearer_env: bearerEnv = null } = text;
  const url = urlOf(valueAt(tree, 'url'), `\`${path}.url\``, report);
  return url === null || timeoutMs === undefined ? null : { mode: 'http', url, timeoutMs, bearerEnv };
}

/** Test networks: their names by chain ID. */
const TEST_CHAINS: ReadonlyMap<number, string> = new Map([
  [84_532, 'Base Sepolia'],
  [11_155_111, 'Sepolia'],
  [11_155_420, 'OP Sepolia'],
  [421_614, 'Arbitrum Sepolia'],
  [80_002, 'Polygon Amoy'],
  [43_113, 'Avalanche Fuji'],
  [31_337, 'a local chain'],
  [1337, 'a local chain'],
]);

/** The properties of a token's contract, with the token's common name. */
type Token = Pick<PaymentAsset, 'name' | 'version' | 'decimals'> & { readonly title: string };

/** Known tokens by lower-case address, on any chain, because a local chain may be a copy of a public one. */
const TOKENS: ReadonlyMap<string, Token> = new Map([
  [
    '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
    { title: 'USDC of Base', name: 'USD Coin', version: '2', decimals: 6 },
  ],
  [
    '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
    { title: 'USDC of Base Sepolia', name: 'USDC', version: '2', decimals: 6 },
  ],
]);
