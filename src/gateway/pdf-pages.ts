import { inflateSync } from 'node:zlib';
import type { FilePart } from '../core/conversation.ts';

/** The most bytes of a file that are searched, and of its inflated objects. */
const SEARCHED_MAX = 33_554_432;

/** Parts live as long as their request, which is measured more than once. */
const known = new WeakMap<FilePart, number | null>();

/** Returns how many pages a PDF has at most by its own account; null for another file, and for one that does not tell. */
export function pagesOf(part: FilePart): number | null {
  let pages = known.get(part);
  if (pages === undefined) {
    pages = countPages(part.data ?? '');
    known.set(part, pages);
  }
  return pages;
}

const PDF_URL = /^data:application\/pdf(?:;[^,]*)?;base64,/i;

function countPages(url: string): number | null {
  const [head] = PDF_URL.exec(url) ?? [];
  if (head === undefined || url.length - head.length > (SEARCHED_MAX * 4) / 3) return null;
  const bytes = Buffer.from(url.slice(head.length), 'base64');
  const text = bytes.toString('latin1');
  // Its objects cannot be read, or bear names that are spelt in another way.
  if (!text.startsWith('%PDF-') || text.includes('/Encrypt') || ESCAPED_TYPE.test(text)) return null;
  const objects = packedObjects(bytes, text);
  if (objects === null || ESCAPED_TYPE.test(objects)) return null;
  const pages = Math.max(
    ...[text, objects].map(greatestCount),
    typesIn(text) + typesIn(objects),
    kidsIn(text) + kidsIn(objects),
  );
  return pages > 0 ? pages : null;
}

const ESCAPED_TYPE = /\/Type\s*\/[A-Za-z]*#/;
const PAGE = /\/Type\s*\/Page(?![A-Za-z])/g;
const COUNT = /\/Count\s+(\d{1,9})(?!\d)/g;
const KIDS = /\/Kids\s*\[([^\]]*)\]/g;
const REFERENCE = /\d\s+R\b/g;

const matchesIn = (text: string, form: RegExp): number => text.match(form)?.length ?? 0;
const typesIn = (text: string): number => matchesIn(text, PAGE);
/** A page that is listed twice is two pages. */
const kidsIn = (text: string): number =>
  [...text.matchAll(KIDS)].reduce((sum, [, kids]) => sum + matchesIn(kids!, REFERENCE), 0);
const greatestCount = (text: string): number =>
  [...text.matchAll(COUNT)].reduce((most, [, n]) => Math.max(most, Number(n)), 0);

/** Returns the text of the objects that are packed into streams; null where one cannot be unpacked. */
function packedObjects(bytes: Buffer, text: string): string | null {
  let all = '';
  for (let at = text.indexOf('/ObjStm'); at >= 0; at = text.indexOf('/ObjStm', at + 1)) {
    const start = /stream\r?\n/g;
    start.lastIndex = at;
    const found = start.exec(text);
    const end = found ? text.indexOf('endstream', found.index) : -1;
    if (!found || end < 0) return null;
    try {
      const inflated = inflateSync(bytes.subarray(found.index + found[0].length, end), {
        maxOutputLength: SEARCHED_MAX - all.length,
      });
      all += inflated.toString('latin1');
    } catch {
      return null;
    }
  }
  return all;
}
