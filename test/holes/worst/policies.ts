import { loadText } from '../../policy/support.ts';
import { mapped, type WorstReader } from './reader.ts';
import { list } from './requests.ts';

const lines = (parts: number, line: (at: number) => string): string => list(parts, line).join('\n');

const PRICE = '{ input: 0.10, output: 0.40 }';
const model = (id: string, more = ''): string =>
  `  ${id}: { provider: sim, price: ${PRICE}, context_window: 8192, max_output: 2048, quality: { default: 0.6 }${more} }`;
const policy = (models: string, more = ''): string =>
  `version: 1\nproviders: { sim: { adapter: simulated } }\nmodels:\n${models}\n${more}`;
const OF_ONE = policy(model('m0'));

/** Policies as an importer, or a person in a hurry, may write them. */
const POLICIES: Readonly<Record<string, (parts: number) => string>> = {
  models: (parts) => policy(lines(parts, (at) => model(`m${at}`))),
  'models of one name': (parts) => policy(lines(parts, () => model('m'))),
  'fallbacks with similar names': (parts) => policy(lines(parts, (at) => model(`m${at}`, `, fallbacks: [m${at + 1}]`))),
  aliases: (parts) => `${OF_ONE}aliases:\n${lines(parts, (at) => `  a${at}: m0`)}\n`,
  'aliases of aliases': (parts) => `${OF_ONE}aliases:\n${lines(parts, (at) => `  a${at}: a${at + 1}`)}\n`,
  rules: (parts) =>
    `${OF_ONE}constraints:\n${lines(parts, (at) => `  - { name: r${at}, max_cost_credits: 1, when: request.user != "" }`)}\n`,
  'unknown keys': (parts) => `${OF_ONE}${lines(parts, (at) => `key${at}: 1`)}\n`,
  'keys of one name': (parts) => `${OF_ONE}${lines(parts, () => 'aliases: {}')}\n`,
  'a long list in brackets': (parts) => `${OF_ONE}x: [${'1, '.repeat(parts)}]\n`,
  'a long text': (parts) => `${OF_ONE}x: "${'\\"'.repeat(parts)}"\n`,
  'a text with many lines': (parts) => `${OF_ONE}x: |\n${'  a\n'.repeat(parts)}`,
  comments: (parts) => `${'# a\n'.repeat(parts)}${OF_ONE}`,
  'blank lines': (parts) => `${'\n'.repeat(parts)}${OF_ONE}`,
  'line ends of another system': (parts) => `${'\r\n'.repeat(parts)}${OF_ONE}`,
  'uses of an anchor': (parts) => `${OF_ONE}x: &a { b: 1 }\ny:\n${'  - *a\n'.repeat(parts)}`,
  'syntax mistakes': (parts) => `${OF_ONE}${'\t- [\n'.repeat(parts)}`,
  'keys without an end': (parts) => `${OF_ONE}${'a: '.repeat(parts)}\n`,
};

/** Readers of policies. Operators write policies, but a program in front of the gateway may generate them from what its users enter. */
export const policyReaders: readonly WorstReader[] = [
  { name: 'policies', shapes: mapped(POLICIES, (text) => () => loadText(text)), weight: 8 },
];
