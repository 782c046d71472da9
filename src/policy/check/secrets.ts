import type { SourceSpan } from '../report/diagnostics.ts';
import { maskSecretShapes, maskSecrets } from '../report/mask.ts';
import type { Report } from '../report/report.ts';
import type { MapTree, ScalarTree, Tree } from '../yaml/tree.ts';

const SECRET_KEYS =
  /^(?:api_?key|x-api-key|(?:access_?|auth_?|bearer_?)?token|bearer|secret|client_?secret|private_?key|mnemonic|password|authorization)$/i;
/** Keys whose value names an environment variable. Users may paste a secret without a recognizable form as the value of such a key. */
const VARIABLE_KEYS: ReadonlySet<string> = new Set([
  'api_key_env',
  'api_keys_env',
  'private_key_env',
  'bearer_env',
  'client_secret_env',
]);
const VARIABLE = /^[A-Z_][A-Z0-9_]*$/;
/** Wrong spellings of a variable that are not secrets: `$NAME`, `${NAME}` or `openai_api_key`. */
const MEANT_AS_VARIABLE =
  /^(?:\$[A-Za-z_]\w*|os\.environ\/[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\}|(?:[A-Za-z]\w*_)?(?:api_?)?(?:key|token|secret))$/i;

/**
 * The key `api_key`, which other gateways have. `api_key` accepts a reference to a variable in capitals; any other text may be the secret
 * itself.
 */
const API_KEY = /^api_?key$/i;
const REFERENCE = /^(?:\$\{[A-Z_][A-Z0-9_]*\}|\$[A-Z_][A-Z0-9_]*|os\.environ\/[A-Z_][A-Z0-9_]*)$/;

/** Reports the location of every literal in a file that looks like a secret. */
export function findSecrets(file: MapTree, report: Report): void {
  for (const entry of file.entries) find({ ...file, entries: [entry] }, '', entry.key === 'payments', report);
}

const looksSecret = (text: string, isOfPayments: boolean): boolean =>
  isOfPayments ? maskSecrets(text) !== text || text.split(',').some(isKeyedAddress) : maskSecretShapes(text) !== text;

function hintFor(key: string, isOfPayments: boolean): string {
  if (!isOfPayments) {
    const variable = key.startsWith('client_secret') ? 'client_secret_env' : 'api_key_env';
    return `put the secret into an environment variable, and write the name of that variable in \`${variable}\``;
  }
  return key.startsWith('rpc_url')
    ? 'put a URL that contains a key into an environment variable, and write the name of that variable in `rpc_urls_env`'
    : 'put the secret into an environment variable, and write the name of that variable in `private_key_env` or `bearer_env`';
}

/** An API key of a node service as a part of a URL's path: long, with letters and digits. */
const KEY_IN_PATH = /^(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_-]{20,}$/;

/** Whether a URL contains credentials: a user, a query, or a key in its path. */
function isKeyedAddress(text: string): boolean {
  if (!text.includes('://') || !URL.canParse(text)) return false;
  const { username, password, search, pathname } = new URL(text);
  return (
    username !== '' || password !== '' || search !== '' || pathname.split('/').some((part) => KEY_IN_PATH.test(part))
  );
}

/** @param key the key of the tree */
function find(tree: Tree, key: string, isOfPayments: boolean, report: Report): void {
  const add = (place: SourceSpan, what: string, at: string) =>
    report.add('secret', place, `${what} looks like a secret`, { hint: hintFor(at, isOfPayments) });
  if (tree.kind === 'map') {
    for (const entry of tree.entries) {
      if (looksSecret(entry.key, isOfPayments)) add(entry.place, 'this key', entry.key);
      find(entry.value, entry.key, isOfPayments, report);
    }
  } else if (tree.kind === 'list') {
    for (const item of tree.items) find(item, key, isOfPayments, report);
  } else if (isSecret(key, tree, isOfPayments)) add(tree.place, `the value of \`${key}\``, key);
}

function isSecret(key: string, { value, source }: ScalarTree, isOfPayments: boolean): boolean {
  if (value === null || source === '') return false;
  // Keys of some providers have no recognizable form, so any text that is not a variable's name counts as a key.
  const isVariable = VARIABLE.test(source) || MEANT_AS_VARIABLE.test(source);
  if (API_KEY.test(key) && REFERENCE.test(source)) return false;
  const isSuspect = VARIABLE_KEYS.has(key) ? !isVariable : SECRET_KEYS.test(key);
  return isSuspect || looksSecret(source, isOfPayments);
}
