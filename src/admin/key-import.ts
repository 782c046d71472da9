import { readFileSync } from 'node:fs';
import * as f from '../core/define/fields.ts';
import { parseJson } from '../core/json/object.ts';
import { parseDecimal } from '../core/money/decimal.ts';
import { plural } from '../core/text/text.ts';
import { UsageError } from '../core/usage-error.ts';
import { type OperationHost, operationsOn } from './kit/operation.ts';
import { keyBudgetIn } from './kit/texts.ts';
import { type IMPORT_ACTIONS, type ImportDesk, importFile } from './use-cases/key-import/import-keys.ts';

/** The services that an import uses. */
export interface ImportServices extends ImportDesk, Pick<OperationHost, 'usdPerCredit' | 'modelWarnings'> {}

/** The most bytes of a file that the command reads. */
const FILE_BYTES_MAX = 256 * 1_048_576;

/** Reads the file that the command names; - is the standard input. @throws UsageError */
function fileAt(path: string): string {
  const bytes = bytesAt(path);
  if (bytes.length > FILE_BYTES_MAX)
    throw new UsageError(`${path} has more than ${FILE_BYTES_MAX} bytes. Import it in parts.`);
  try {
    return withoutEmpty(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    const before = new TextDecoder().decode(bytes).split('\ufffd', 1)[0]!.split('\n');
    throw new UsageError(`${path} is not UTF-8 text. Line ${before.length}, column ${before.at(-1)!.length + 1}.`);
  }
}

/**
 * Leaves out empty members of JSON, which are most of an answer of LiteLLM, so that more keys fit into a request. Other texts stay as they
 * are, so that errors name the right place.
 */
function withoutEmpty(text: string): string {
  const lines = parseJson(text) === undefined ? text.split('\n').filter((line) => line.trim() !== '') : [text];
  const values = lines.map((line) => parseJson(line));
  if (!values.every((value) => typeof value === 'object')) return text;
  const isKept = (value: unknown) => value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);
  return values.map((value) => JSON.stringify(value, (_, one) => (isKept(one) ? one : undefined))).join('\n');
}

function bytesAt(path: string): Uint8Array {
  try {
    return readFileSync(path === '-' ? 0 : path);
  } catch {
    throw new UsageError(`${path} cannot be read.`);
  }
}

const Row = f.shape('A key of the file.', {
  at: f.text('Where the file states it.', 'line 2'),
  action: f.word(
    {
      create: 'The key is new.',
      change: 'The key was imported before, and gets the terms of the file.',
      same: 'The key was imported before, with the same terms.',
      refuse: 'The key cannot come.',
    },
    'What the import does with the key.',
    'create',
  ),
  id: f.orNull(f.text('The ID of the key; null if the database does not have the key.', 'k7mw2pq9x4ta')),
  name: f.text('The name of the key.', 'billing-app'),
  models: f.inCommand(
    f.orNull(
      f.list(f.text('The ID of a model.', 'gpt-6-luna'), 'IDs of the models that the key may use; null for all.'),
    ),
    { none: 'all' },
  ),
  changes: f.list(f.text('A change.', 'name: a → b'), 'The changed members, each with its old and its new value.'),
  left_out: f.list(
    f.text('A setting.', '`aliases`: Signalbox has no aliases of one key'),
    'Settings of the file that do not come along, each with its reason.',
  ),
  reason: f.orNull(f.text('Why the key cannot come; null if it can.')),
});

const Import = f.named('KeyImport', 'The keys of a file, and what the import did with them.', {
  applied: f.flag('Whether the keys were imported; false for a preview.', true),
  create: f.count('New keys.', 120),
  change: f.count('Keys that got other terms.', 3),
  same: f.count('Keys that have the terms of the file already.', 40),
  refuse: f.count('Keys that cannot come.', 1),
  notes: f.list(f.text('A sentence.', 'The file has 100 of 250 keys.'), 'Sentences about the whole file.'),
  keys: f.list(Row, 'The keys, in the order of the file.'),
});

/** The part of the JSON answer that the command prints. */
interface PrintedImport extends Readonly<Record<(typeof IMPORT_ACTIONS)[number], number>> {
  readonly applied: boolean;
  readonly notes: readonly string[];
  readonly keys: readonly PrintedRow[];
}
interface PrintedRow {
  readonly at: string;
  readonly action: (typeof IMPORT_ACTIONS)[number];
  readonly id: string | null;
  readonly name: string;
  readonly models: readonly string[] | null;
  readonly changes: readonly string[];
  readonly left_out: readonly string[];
  readonly reason: string | null;
}

const TITLES = {
  create: ['New', 'To create'],
  change: ['Changed', 'To change'],
  refuse: ['Cannot come', 'Cannot come'],
} as const;

function printed({ applied, notes, keys, create, change, same, refuse }: PrintedImport): string {
  const sections = (['refuse', 'change', 'create'] as const).flatMap((action) => {
    const rows = keys.filter((row) => row.action === action);
    return rows.length === 0 ? [] : [`${TITLES[action][applied ? 0 : 1]}:\n${rows.map(rowText).join('')}`];
  });
  const sum = applied
    ? `${plural(create, 'key')} created, ${change} changed, ${same} the same, ${refuse} cannot come.\n`
    : `${plural(create, 'key')} to create, ${change} to change, ${same} the same, ${refuse} cannot come. Nothing was changed. Add --apply to import them.\n`;
  return [...notes.map((note) => `${note}\n`), ...sections, sum].join('\n');
}

function rowText({ at, id, name, models, changes, left_out: leftOut, reason, action }: PrintedRow): string {
  const head = [at, name, id].filter((word) => word !== null && word !== '').join(', ');
  const may = action === 'refuse' ? reason : `${models === null ? 'all models' : models.join(', ')}`;
  return [
    `  ${head}: ${may}`,
    ...changes.map((one) => `    ${one}`),
    ...leftOut.map((one) => `    without ${one}`),
    '',
  ].join('\n');
}

export const importForeignKeys = operationsOn<ImportServices>()({
  name: 'keys import',
  use: 'to bring the keys of another gateway along, so that applications keep their keys.',
  example: 'keys import keys.json',
  http: 'POST /admin/keys/import',
  action: 'keys.import',
  summary: 'Import keys of another gateway',
  details:
    'Reads keys, or their SHA-256 hashes, from answers of LiteLLM’s `/key/list?return_full_object=true`, from its table `LiteLLM_VerificationToken` as JSON or CSV, or from a CSV. Without `apply`, nothing is changed: the answer says what would be created and changed, and what cannot come, with the reason. The import stores only hashes. An imported key has the scopes `chat`, `embed` and `route`. If a key was imported before, it gets the terms that the file states, so a repeated import completes an import that was interrupted.',
  bodyMax: 'policy',
  isLong: true,
  input: f.closed('The keys to import.', {
    file: f.inCommand(f.text('The text of the file.', 'sha256,name,models\n5e88…,billing-app,gpt-6-luna\n'), {
      isPositional: true,
      help: 'The file with the keys; - for the standard input.',
      read: fileAt,
    }),
    apply: f.optional(f.flag('Whether to import the keys. By default, the answer is a preview.', { default: false })),
  }),
  output: Import,
  answer: 'What was done, or would be done, with each key.',
  errorField: 'file',
  examples: {
    preview: {
      summary: 'Preview',
      value: { file: 'sha256,name\n5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8,billing-app\n' },
    },
  },
  prints: printed,
  isFinding: ({ refuse }: PrintedImport) => refuse > 0,
  async run(services, { by, now }, { file, apply = false }) {
    const worth = await services.usdPerCredit();
    const usdPerCredit = worth === null ? null : parseDecimal(worth);
    const { rows, notes: ofFile } = await importFile(
      by,
      services,
      file,
      { usdPerCredit, now, readBudget: keyBudgetIn },
      apply,
    );
    const models = [...new Set(rows.flatMap((row) => row.models ?? []))];
    const notes = [...ofFile, ...((await services.modelWarnings?.(models, by.caller)) ?? [])];
    const count = (action: string) => rows.filter((row) => row.action === action).length;
    const counts = { create: count('create'), change: count('change'), same: count('same'), refuse: count('refuse') };
    return { applied: apply, ...counts, notes, keys: rows };
  },
});
