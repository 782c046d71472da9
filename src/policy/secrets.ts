import { SECRET_SHAPES } from '../core/secret-shapes.ts';
import type { Report } from './report.ts';
import type { Tree } from './tree.ts';

const LOOKS = new RegExp(SECRET_SHAPES, 'g');
const CREDENTIALS_IN_URL = /(?<=:\/\/)[^/\s@:]*:[^/\s@]+(?=@)/g;
const SECRET_KEYS = /^(?:api_?key|x-api-key|(?:access_?|auth_?)?token|secret|client_?secret|password|authorization)$/i;
const VARIABLE = /^[A-Z_][A-Z0-9_]*$/;
/** How people write a variable otherwise: `$NAME`, `${NAME}` or `openai_api_key`. Wrong, and no secret. */
const MEANT_AS_VARIABLE = /^(?:\$[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\}|(?:[A-Za-z]\w*_)?(?:api_?)?(?:key|token|secret))$/i;

const mask = (text: string) => '*'.repeat(text.length);

/** The text with everything that looks like a key replaced by as many asterisks. */
export function maskSecrets(text: string): string {
  return text.replace(LOOKS, mask).replace(CREDENTIALS_IN_URL, mask);
}

/** Reports every literal that looks like a secret, by its place alone. */
export function findSecrets(tree: Tree, report: Report, key = ''): void {
  if (tree.kind === 'map') {
    for (const entry of tree.entries) {
      if (looksSecret(entry.key)) report.add('secret', entry.place, 'this key looks like a secret', WHAT_TO_DO);
      findSecrets(entry.value, report, entry.key);
    }
  } else if (tree.kind === 'list') {
    for (const item of tree.items) findSecrets(item, report, key);
  } else if (isSecret(key, tree)) {
    report.add('secret', tree.place, `the value of \`${key}\` looks like a secret`, WHAT_TO_DO);
  }
}

const WHAT_TO_DO = { hint: 'put the secret in an environment variable and name that variable in `api_key_env`' };

function isSecret(key: string, tree: Tree & { kind: 'scalar' }): boolean {
  if (tree.value === null || tree.source === '') return false;
  // Keys of some providers have no mark of their own: what is not a variable's name is taken for one.
  if (key === 'api_key_env') return !isVariable(tree.source) || looksSecret(tree.source);
  return SECRET_KEYS.test(key) || looksSecret(tree.source);
}

function isVariable(text: string): boolean {
  return VARIABLE.test(text) || MEANT_AS_VARIABLE.test(text);
}

function looksSecret(text: string): boolean {
  return maskSecrets(text) !== text;
}
