import { describe, expect, test } from 'bun:test';
import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import type { FilePart } from '../../src/core/conversation.ts';
import { pagesOf } from '../../src/gateway/pdf-pages.ts';
import { tries } from '../deep/effort.ts';

const part = (pdf: string, type = 'application/pdf'): FilePart => {
  const data = `data:${type};base64,${Buffer.from(pdf, 'latin1').toString('base64')}`;
  return { type: 'file', data, at: [], valueAt: [], extras: {} };
};

const kids = (pages: number): string => Array.from({ length: pages }, (_, at) => `${at + 3} 0 R`).join(' ');
const tree = (pages: number): string => `<< /Type /Pages /Kids [${kids(pages)}] /Count ${pages} >>`;
const page = '<</Type/Page/Parent 2 0 R>>';

/** As version 1.4 has it: each object by itself. */
const plain = (pages: number): string =>
  `%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n${tree(pages)}\nendobj\n${`3 0 obj\n${page}\nendobj\n`.repeat(pages)}trailer\n<< /Root 1 0 R >>\n`;

/** As later versions have it: the objects are packed. */
function packed(pages: number, perStream: number): string {
  const objects = [tree(pages), ...Array.from({ length: pages }, () => page)];
  let pdf = '%PDF-1.7\n';
  for (let at = 0; at < objects.length; at += perStream) {
    const stream = deflateSync(Buffer.from(objects.slice(at, at + perStream).join('\n'), 'latin1')).toString('latin1');
    pdf += `9 0 obj\n<< /Type /ObjStm /Filter /FlateDecode /Length ${stream.length} >>\nstream\r\n${stream}\nendstream\nendobj\n`;
  }
  return pdf;
}

const law = (count: typeof pagesOf) =>
  fc.property(
    fc.integer({ min: 1, max: 40 }),
    fc.integer({ min: 1, max: 9 }),
    fc.boolean(),
    (pages, perStream, isPacked) => {
      expect(count(part(isPacked ? packed(pages, perStream) : plain(pages)))).toBe(pages);
    },
  );

describe('the pages of a PDF', () => {
  test('are counted, packed or not', () => {
    fc.assert(law(pagesOf), tries('the pages of a PDF are counted', 100, 5_000));
  });

  test('the law catches a count that does not unpack', () => {
    const mutant: typeof pagesOf = ({ data = '', ...rest }) => {
      const text = Buffer.from(data.slice(data.indexOf(',') + 1), 'base64').toString('latin1');
      return pagesOf(part(text.replaceAll('/ObjStm', '/Other'), 'application/pdf')) ?? (rest.at.length || null);
    };
    expect(fc.check(law(mutant), { numRuns: 100 }).failed).toBe(true);
  });

  test('are those of the greatest account where accounts differ', () => {
    expect(pagesOf(part(plain(3).replace('/Count 3', '/Count 70')))).toBe(70);
    expect(
      pagesOf(part(plain(2).replace(kids(2), '3 0 R 3 0 R 3 0 R 3 0 R 3 0 R').replace('/Count 2', '/Count 1'))),
    ).toBe(5);
  });

  test.each([
    ['of an encrypted file', `${plain(2)}<< /Encrypt 7 0 R >>`],
    ['of a file whose names are spelt with escapes', plain(2).replaceAll('/Page/', '/P#61ge/')],
    ['of a stream that is cut', packed(9, 3).slice(0, -30)],
    [
      'of a bomb',
      `%PDF-1.7\n<< /Type /ObjStm >>\nstream\n${deflateSync(Buffer.alloc(40_000_000)).toString('latin1')}\nendstream`,
    ],
    ['of what is no PDF', 'GIF89a'],
    ['of a file without pages', '%PDF-1.4\n'],
  ])('are not known %s', (_, pdf) => {
    expect(pagesOf(part(pdf))).toBeNull();
  });

  test('are not known of a file of another type, or without content', () => {
    expect(pagesOf(part(plain(2), 'text/plain'))).toBeNull();
    expect(pagesOf({ type: 'file', id: 'file-1', at: [], valueAt: [], extras: {} })).toBeNull();
  });
});
