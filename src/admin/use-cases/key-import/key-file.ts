import { CsvError, parse } from 'csv-parse/sync';
import { refuse } from '../../../core/errors.ts';
import { jsonFault } from '../../../core/json/fault.ts';
import { beyondLimits, DEPTH_MAX } from '../../../core/json/limits.ts';
import { isObject, parseJson } from '../../../core/json/object.ts';
import { plural } from '../../../core/text/text.ts';
import { CSV_COLUMNS, csvKey, isCsvColumn } from './csv-keys.ts';
import { type KeyFile, type ReadingTerms, rowOf } from './foreign-key.ts';
import { type LitellmRow, litellmKey, litellmName } from './litellm.ts';

/** The most keys of one file. Copies of the keys stay in the memory of each server. */
const KEYS_MAX = 100_000;
const VALUES_MAX = 20_000_000;

/**
 * Reads the keys of a file: answers of LiteLLM's `/key/list`, its table as JSON or CSV, or a CSV with the columns of `CSV_COLUMNS`.
 * @throws SignalboxError for a file that is none of them, with the line and the column
 */
export function keysIn(given: string, terms: ReadingTerms): KeyFile {
  const text = given.replace(/^\uFEFF/, '');
  const file = /^\s*[[{]/.test(text) ? jsonKeys(text, terms) : csvKeys(text, terms);
  if (file.keys.length > KEYS_MAX)
    refuseFile(`It has ${file.keys.length} keys, and at most ${KEYS_MAX} can come at once.`);
  return file;
}

const refuseFile = (reason: string): never => refuse('file', `The file cannot be read. ${reason}`);

// JSON

function jsonKeys(text: string, terms: ReadingTerms): KeyFile {
  const pages = jsonIn(text);
  const rows: LitellmRow[] = [];
  let total = 0;
  for (const page of pages.flat()) {
    if (!isObject(page)) return refuseFile(NO_OBJECTS);
    const { keys } = page;
    if (!Array.isArray(keys)) rows.push(page);
    else {
      total = Math.max(total, Number(page.total_count) || 0);
      for (const row of keys) rows.push(isObject(row) ? row : refuseFile(NO_OBJECTS));
    }
  }
  const notes =
    total > rows.length
      ? [
          `The file has ${rows.length} of ${plural(total, 'key')}. Write the answers for all pages into it, one after the other.`,
        ]
      : [];
  return { keys: rows.map((row, at) => litellmRow(row, `key ${at + 1}`, terms)), notes };
}

const NO_OBJECTS =
  'Its keys are no objects. Request LiteLLM’s /key/list with return_full_object=true, so that the answer has the limits of each key.';

const litellmRow = (row: LitellmRow, at: string, terms: ReadingTerms) =>
  rowOf(at, litellmName(row), () => litellmKey(row, at, terms));

/** Reads one JSON value, or several on lines of their own. */
function jsonIn(text: string): readonly unknown[] {
  const limit = beyondLimits(text, VALUES_MAX);
  if (limit !== null)
    return refuseFile(
      limit === 'depth' ? `It has more than ${DEPTH_MAX} levels of objects and lists.` : 'It has too many values.',
    );
  const whole = parseJson(text);
  if (whole !== undefined) return [whole];
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const values = lines.length > 1 ? lines.map((line) => parseJson(line)) : [];
  if (values.length > 0 && values.every((value) => value !== undefined)) return values;
  const fault = jsonFault(text);
  if (!fault) return refuseFile('It is not JSON.');
  return refuseFile(`Line ${fault.line}, column ${fault.column}: ${fault.reason}.`);
}

// CSV

interface CsvRecord {
  readonly record: readonly string[];
  /** The line of the file, from 1, on which the record ends. */
  readonly line: number;
}

function csvKeys(text: string, terms: ReadingTerms): KeyFile {
  const [head, ...records] = recordsIn(text);
  if (!head) return refuseFile('Line 1, column 1: it is empty.');
  const columns = head.record.map((name) => name.trim());
  const isLitellm = columns.includes('token');
  for (const [at, column] of columns.entries()) {
    const where = `Line ${head.line}, column ${at + 1}`;
    if (!isLitellm && !isCsvColumn(column)) {
      refuseFile(
        `${where}: no such column as ${JSON.stringify(column.slice(0, 40))}. The columns are ${Object.keys(CSV_COLUMNS).join(', ')}.`,
      );
    }
    if (columns.indexOf(column) < at) refuseFile(`${where}: the column ${column} is there twice.`);
  }
  if (!isLitellm && !columns.includes('key') && !columns.includes('sha256')) {
    refuseFile(`Line ${head.line}, column 1: it has neither a column key nor a column sha256.`);
  }
  const keys = records.map(({ record, line }) => {
    if (record.length !== columns.length) {
      return refuseFile(
        `Line ${line}, column ${Math.min(record.length, columns.length) + 1}: the row has ${plural(record.length, 'cell')}, and the first line has ${columns.length}.`,
      );
    }
    const row = Object.fromEntries(columns.map((column, at) => [column, record[at]!.trim()]));
    const at = `line ${line}`;
    return isLitellm ? litellmRow(row, at, terms) : rowOf(at, row.name ?? '', () => csvKey(row, at, terms));
  });
  return { keys, notes: [] };
}

function recordsIn(text: string): readonly CsvRecord[] {
  const records: CsvRecord[] = [];
  try {
    const add = (record: readonly string[], { lines }: { readonly lines: number }) => {
      records.push({ record, line: lines });
      return null;
    };
    parse(text, { relax_column_count: true, skip_empty_lines: true, on_record: add });
    return records;
  } catch (cause) {
    if (!(cause instanceof CsvError)) throw cause;
    const { lines, column, message } = cause;
    return refuseFile(`Line ${Number(lines)}, column ${Number(column) + 1}: ${message.replace(/ at line \d+/, '')}.`);
  }
}
