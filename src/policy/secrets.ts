import { maskSecretShapes, maskSecrets } from './mask.ts';
import type { Report } from './report.ts';
import type { MapTree, ScalarTree, Tree } from './tree.ts';

const SECRET_KEYS =
  /^(?:api_?key|x-api-key|(?:access_?|auth_?|bearer_?)?token|bearer|secret|client_?secret|private_?key|mnemonic|password|authorization)$/i;
/** Keys that name a variable. A secret without a recognizable form may be pasted there. */
const VARIABLE_KEYS: ReadonlySet<string> = new Set(['api_key_env', 'private_key_env', 'bearer_env']);
const VARIABLE = /^[A-Z_][A-Z0-9_]*$/;
/** Wrong forms of a variable that are not secrets: `$NAME`, `${NAME}` or `openai_api_key`. */
const MEANT_AS_VARIABLE = /^(?:\$[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\}|(?:[A-Za-z]\w*_)?(?:api_?)?(?:key|token|secret))$/i;

/** Reports the place of every literal of a file that looks like a secret. */
export function findSecrets(file: MapTree, report: Report): void {
  for (const entry of file.entries) {
    const kind = entry.key === 'payments' ? OF_PAYMENTS : OF_OTHERS;
    find({ ...file, entries: [entry] }, kind, report, '');
  }
}

/** The test for secrets in a section, and the hint for one. */
interface SecretKind {
  looksSecret(text: string): boolean;
  hintFor(key: string): { readonly hint: string };
}

const looksSecret = (text: string): boolean => maskSecretShapes(text) !== text;

const OF_OTHERS: SecretKind = {
  looksSecret,
  hintFor: () => ({
    hint: 'put the secret into an environment variable, and write the name of that variable in `api_key_env`',
  }),
};

const OF_PAYMENTS: SecretKind = {
  looksSecret: (text) => maskSecrets(text) !== text || text.split(',').some(isKeyedAddress),
  hintFor: (key) => ({
    hint: key.startsWith('rpc_url')
      ? 'put an address that holds a key into an environment variable, and write the name of that variable in `rpc_urls_env`'
      : 'put the secret into an environment variable, and write the name of that variable in `private_key_env` or `bearer_env`',
  }),
};

/** A key of a node service as a part of a path: long, with letters and digits. */
const KEY_IN_PATH = /^(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_-]{20,}$/;

/** Whether an address contains credentials: a user, a query, or a key in its path. */
function isKeyedAddress(text: string): boolean {
  if (!text.includes('://') || !URL.canParse(text)) return false;
  const { username, password, search, pathname } = new URL(text);
  return (
    username !== '' || password !== '' || search !== '' || pathname.split('/').some((part) => KEY_IN_PATH.test(part))
  );
}

function find(tree: Tree, kind: SecretKind, report: Report, key: string): void {
  if (tree.kind === 'map') {
    for (const entry of tree.entries) {
      if (kind.looksSecret(entry.key))
        report.add('secret', entry.place, 'this key looks like a secret', kind.hintFor(entry.key));
      find(entry.value, kind, report, entry.key);
    }
  } else if (tree.kind === 'list') {
    for (const item of tree.items) find(item, kind, report, key);
  } else if (isSecret(key, tree, kind)) {
    report.add('secret', tree.place, `the value of \`${key}\` looks like a secret`, kind.hintFor(key));
  }
}

function isSecret(key: string, { value, source }: ScalarTree, kind: SecretKind): boolean {
  if (value === null || source === '') return false;
  // Keys of some providers have no recognizable form: anything but a variable's name counts as one.
  if (VARIABLE_KEYS.has(key)) return !isVariable(source) || kind.looksSecret(source);
  return SECRET_KEYS.test(key) || kind.looksSecret(source);
}

function isVariable(text: string): boolean {
  return VARIABLE.test(text) || MEANT_AS_VARIABLE.test(text);
}
