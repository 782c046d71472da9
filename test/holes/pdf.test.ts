import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { effort, isDeep } from '../deep/effort.ts';
import { closedBooks } from '../gateway/money/books.ts';
import { type Bystander, startBystander } from '../support/bystander.ts';
import type { Behaviour, RecordedRequest } from '../support/fake-upstream.ts';
import { leastOf } from '../support/in-time.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/**
 * PDFs that were made to stop the server, or to hold less than they cost. The server opens no PDF. The length of a PDF and what the PDF
 * says about itself change only an estimate.
 */
const claude = useUpstream({ dialect: 'anthropic' });
const gemini = useUpstream({ dialect: 'gemini' });
const PAGE_TOKENS = 100;
const PAGES = { claude: { request: 100 }, gemini: { file: 40 } } as const;
type Model = keyof typeof PAGES;
const IMAGE_TOKENS = 5_000;
const WINDOW = 32_768;

/** @param pages the most pages that the services read according to the policy; null for the number that they really read */
const policyOf = (pages: number | null) => {
  const figures = (model: Model) => {
    const stated = Object.entries(PAGES[model]).map(([form, most]) => `${form}: ${pages ?? most}`);
    return `    page_tokens_max: ${PAGE_TOKENS}\n    pages_max: { ${stated} }\n    image_tokens_max: ${IMAGE_TOKENS}\n`;
  };
  const capabilities = ['file_input', 'vision'];
  return testPolicy(
    { one: { url: claude.url, adapter: 'anthropic' }, two: { url: gemini.url, adapter: 'gemini' } },
    {
      claude: { endpoints: ['one'], capabilities, more: figures('claude') },
      gemini: { endpoints: ['two'], capabilities, more: figures('gemini') },
    },
  );
};

const urlOf = (bytes: Uint8Array) => `data:application/pdf;base64,${Buffer.from(bytes).toString('base64')}`;
const urlOfText = (text: string) => urlOf(Buffer.from(text, 'latin1'));
const bodyOf = (model: string, files: readonly string[], more: object = {}) => ({
  model,
  messages: [
    { role: 'user', content: files.map((file_data) => ({ type: 'file', file: { file_data, filename: 'a.pdf' } })) },
  ],
  ...more,
});

const packed = (objects: string, before = '') => {
  const stream = deflateSync(objects, { level: 9 }).toString('latin1');
  return `%PDF-1.7\n${before}1 0 obj<</Type/ObjStm>>stream\n${stream}\nendstream`;
};
const sizeOf = (body: object) => JSON.stringify(body).length;

describe('a PDF that is hard to read', () => {
  const box = useSignalbox(() => ({ policy: policyOf(null), isProcess: true }));
  let bystander: Bystander;
  beforeAll(() => {
    bystander = startBystander(`${box.url}/healthz`);
  });
  afterAll(() => bystander.stop());
  const { proved } = effort('holes', 1, 1);

  const brackets = bodyOf('claude', [urlOfText(packed('/Kids['.repeat(42_500)))]);
  const streams = bodyOf('claude', [urlOfText(packed('<<>>', '/ObjStm '.repeat(isDeep ? 98_000 : 24_000)))]);

  test.each([
    [`of ${sizeOf(brackets)} bytes, with lists that never end in a packed stream,`, brackets],
    [`of ${sizeOf(streams)} bytes, with streams that are named but missing,`, streams],
  ])('a PDF %s takes no more time than another file of the same length', async (what, body) => {
    let took = 0;
    const waited = await leastOf(100, async () => {
      await bystander.worstMs();
      const began = performance.now();
      expect((await box.post('/v1/route', body)).status).toBe(200);
      took = performance.now() - began;
      return bystander.worstMs();
    });
    expect(waited).toBeLessThan(400);
    proved(`a PDF ${what} is answered in ${took.toFixed(0)} ms; another request waits ${waited.toFixed(0)} ms`);
  });
});

const PAGES_IN_EACH = 500;
/** PDFs of 500 pages that look like one page. */
const page = '<</Type/Page/Parent 2 0 R>>';
const deceiving = (root: string, rest = '') =>
  urlOfText(
    `%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj${root}endobj ${rest} 3 0 obj${page}endobj trailer<</Root 1 0 R>>`,
  );
const kids = Array.from({ length: PAGES_IN_EACH }, () => '3 0 R').join(' ');
const DECEIVING = {
  'a list elsewhere': deceiving('<</Type/Pages/Kids 4 0 R/Count 1>>', `4 0 obj[${kids}]endobj`),
  'a bracket in a comment': deceiving(`<</Type/Pages/Kids[3 0 R%]\n${kids}]/Count 1>>`),
  'a list whose name is spelled differently': deceiving(`<</Type/Pages/K#69ds[${kids}]/Count 1>>`),
  'a type whose name is spelled differently': deceiving(
    `<</Type/Pages/K#69ds[${kids}]/Count 1>>`,
    '<</T#79pe/Page>>'.repeat(PAGES_IN_EACH),
  ),
  'a count whose name is spelled differently': deceiving(`<</Type/Pages/Kids 4 0 R/C#6funt ${PAGES_IN_EACH}>>`),
};

const isCount = ({ path }: Pick<RecordedRequest, 'path'>) => /count_?tokens$/i.test(path);
/** The most tokens that a service bills for the PDFs of a request: all pages that it reads, within its context window. */
const mostOf = (model: Model, files: number) => {
  const { request = Number.POSITIVE_INFINITY, file = Number.POSITIVE_INFINITY }: { request?: number; file?: number } =
    PAGES[model];
  return Math.min(WINDOW, PAGE_TOKENS * Math.min(request, file * files));
};

/** Sets what both services bill for the next prompt, and the count that they report on request. */
function serve(billed: number, counted: number | null): void {
  const behave = (request: RecordedRequest): Behaviour => {
    if (isCount(request) && counted === null) return { fail: 'context' };
    return { usage: { prompt_tokens: isCount(request) ? counted : billed, completion_tokens: 40 } };
  };
  for (const service of [claude, gemini]) {
    service.requests.length = 0;
    service.behave(behave);
  }
}

describe('a PDF that looks shorter than it is', () => {
  const honest = useSignalbox(() => ({ policy: policyOf(null) }));
  const trusting = useSignalbox(() => ({ policy: policyOf(1) }));
  type Server = typeof honest;
  const models = Object.keys(PAGES) as Model[];

  const ask = async (box: Server, model: Model, files: readonly string[], key: string) => {
    const { status } = await box.post('/v1/chat/completions', bodyOf(model, files, { max_tokens: 64 }), withKey(key));
    return status;
  };
  const overrunsOf = async ({ data }: Server) => {
    const { entries, faults } = await closedBooks(data);
    expect(faults).toEqual([]);
    return entries.filter(({ kind }) => kind === 'overrun').length;
  };

  test.each(models)(
    'a PDF that looks shorter than it is never costs more than its hold on %s, alone or with others',
    async (model) => {
      const [poor, rich] = [
        await honest.makeKey('--budget', '3/month'),
        await honest.makeKey('--budget', '9999/month'),
      ];
      const all = Object.values(DECEIVING);
      for (const files of [all, ...all.map((file) => [file])]) {
        const most = mostOf(model, files.length);
        // The service counts the prompt correctly: there is not enough money for it.
        serve(most, most);
        expect(await ask(honest, model, files, poor)).toBe(402);
        expect([claude, gemini].flatMap(({ requests }) => requests.map(isCount))).toEqual([true]);
        // The hold covers all pages that the service reads.
        serve(most, null);
        expect(await ask(honest, model, files, rich)).toBe(200);
      }
      expect(await overrunsOf(honest)).toBe(0);
    },
  );

  const INLINE = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' };
  const AT = { type: 'url', url: 'https://a.example/changes' };
  test.each([
    ['the PDF', [{ type: 'document', source: AT }]],
    ['one of two PDFs', [INLINE, AT].map((source) => ({ type: 'document', source }))],
    ['an image next to the PDF', [INLINE, AT].map((source, at) => ({ type: at ? 'image' : 'document', source }))],
  ])(
    'the hold is the maximum if an address names %s, because its server may send another file for the count than for the answer',
    async (_, content) => {
      // The server sends a single page for the count, and all pages that the service reads for the answer.
      serve(mostOf('claude', 1), PAGE_TOKENS);
      const body = { model: 'claude', max_tokens: 64, messages: [{ role: 'user', content }] };
      const before = await overrunsOf(honest);
      for (const [budget, status] of [
        ['3', 402],
        ['9999', 200],
      ] as const) {
        const key = await honest.makeKey('--budget', `${budget}/month`);
        expect((await honest.post('/v1/messages', body, withKey(key))).status).toBe(status);
      }
      expect(claude.requests.filter(isCount)).toHaveLength(0);
      expect(await overrunsOf(honest)).toBe(before);
    },
  );

  const { runs, seed, proved } = effort('holes', 6, 600);
  const law = (box: Server) =>
    fc.asyncProperty(
      fc.record({
        model: fc.constantFrom(...models),
        files: fc.array(
          fc.oneof(
            fc.uint8Array({ minLength: 1, maxLength: 400 }).map(urlOf),
            fc.constantFrom(...Object.values(DECEIVING)),
            fc.nat(2_000).map((n) => urlOfText(packed('/Kids['.repeat(n)))),
          ),
          { minLength: 1, maxLength: 5 },
        ),
        budget: fc.constantFrom('0.3', '1', '4', '9', '50'),
        share: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
        isCounted: fc.boolean(),
      }),
      async ({ model, files, budget, share, isCounted }) => {
        const billed = Math.max(1, Math.floor(mostOf(model, files.length) * share));
        serve(billed, isCounted ? billed : null);
        const key = await box.makeKey('--budget', `${budget}/month`);
        expect([200, 402]).toContain(await ask(box, model, files, key));
        expect(await overrunsOf(box)).toBe(0);
      },
    );

  test('a PDF of any bytes, for any number of pages that its service reads, costs no more than its hold and overspends no budget', async () => {
    await fc.assert(law(honest), { numRuns: runs, seed });
    proved('PDFs of any bytes, counted by their service or not, are never billed above their hold');
  }, 3_600_000);

  test('the law fails for a server that counts each file as one page', async () => {
    const { failed } = await fc.check(law(trusting), { numRuns: 60, endOnFailure: true });
    expect(failed).toBe(true);
  });
});
