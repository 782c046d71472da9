import { differencesBy, type ReadingsDifferences, type ReadingsTable } from '../../records.ts';
import { batchDeletion } from '../delete-batches.ts';
import { first, type SqlTables, sql, write } from '../statement.ts';

const INSERT = sql('INSERT INTO frames (number, figures) VALUES (?, ?) ON CONFLICT DO NOTHING');
const FIND = sql('SELECT figures FROM frames WHERE number = ?');
const deleteBelow = batchDeletion({ table: 'frames', key: 'number', by: 'number', comparison: '<', batch: 1_000 });

export const sqlReadings = (db: SqlTables): ReadingsTable => ({
  add: (number, differences) => write(INSERT, number, encodeReadings(differences)),
  async find(number) {
    const row = await first<{ figures: Uint8Array }>(db, FIND, number);
    return row ? decodeReadings(row.figures) : null;
  },
  prune: (beforeNumber) => deleteBelow(db, beforeNumber),
});

/** Encodes the differences: for each field a count, then the indexes and their values as doubles. */
function encodeReadings(differences: ReadingsDifferences): Uint8Array {
  const fields = Object.values(differencesBy((field) => differences[field]));
  const view = new DataView(new ArrayBuffer(4 * fields.length + 12 * fields.flat().length));
  let at = 0;
  for (const pairs of fields) {
    view.setUint32(at, pairs.length);
    at += 4;
    for (const [index, value] of pairs) {
      view.setUint32(at, index);
      view.setFloat64(at + 4, value);
      at += 12;
    }
  }
  return new Uint8Array(view.buffer);
}

/** Decodes the bytes of `encodeReadings`. */
function decodeReadings(bytes: Uint8Array): ReadingsDifferences {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  return differencesBy(() => {
    const list: (readonly [number, number])[] = [];
    const end = at + 4 + 12 * view.getUint32(at);
    for (at += 4; at < end; at += 12) list.push([view.getUint32(at), view.getFloat64(at + 4)]);
    return list;
  });
}
