import { FAULTS, FORMS, type Form, GROUPS } from '../../test/fault/faults.ts';
import { answered, type Fault } from '../../test/fault/outcome.ts';
import { drip, eventsText, head, piece } from '../../test/fault/wire.ts';
import { UPSTREAM_ENV, UPSTREAM_KEY } from '../../test/support/policies.ts';
import { type Signalbox, startSignalbox } from '../../test/support/signalbox.ts';
import type { Program } from '../process.ts';
import { table } from '../stats.ts';
import { type Address, type Conclusion, conclude, LEAVE_MS, leave, PATIENCE_MS, read } from './callers.ts';
import { type Portkey, portkeyHeaders } from './portkey.ts';
import { isLeftOpen, policyOf, type Stage, setStage, type Trial } from './stage.ts';

const GATEWAYS = ['Signalbox', 'Portkey'] as const;
const CALLERS = ['reader', 'client'] as const;
type Gateway = (typeof GATEWAYS)[number];

/** An upstream that sends data for as long as the connection is open. */
const ENDLESS: Fault = {
  name: 'a caller who leaves',
  does: 'has a caller who leaves',
  upstream: {
    speaks: 'bytes',
    async play(line, asked) {
      if (!asked.stream) return;
      await line.write(head(asked, 'transfer-encoding: chunked'));
      await drip(line, 50, () => piece(eventsText(asked.dialect, asked.dialect.word('aaaa', null))));
    },
  },
  json: answered(),
  stream: answered(),
};

/** The number of parallel trials. With more parallel trials, deadlines of 400 ms would measure the machine. */
const WORKERS = 6;

const trialOf = (at: number, fault: Fault, form: Form, gateway: Gateway, caller: Trial['caller']): Trial => ({
  id: `trial-${at}-${form}-${gateway}-${caller}`.toLowerCase(),
  fault,
  form,
  gateway,
  caller,
  seen: Promise.withResolvers<void>(),
  lines: [],
});

const TRIALS: readonly Trial[] = [...FAULTS, ENDLESS].flatMap((fault, at) =>
  FORMS.flatMap((form) =>
    GATEWAYS.flatMap((gateway) =>
      CALLERS.filter((caller) => fault !== ENDLESS || caller === 'reader').map((caller) =>
        trialOf(at, fault, form, gateway, caller),
      ),
    ),
  ),
);

/** Whether a trial keeps a gateway so busy that others would miss their deadlines. A trial that keeps a gateway busy runs alone. */
const isHeavy = ({ fault }: Trial): boolean => fault.name.startsWith('giant chunk');

interface Result {
  saw: string;
  /** The time in ms until the reader saw the end. */
  ms: number;
  conclusion: Conclusion;
  isLeftOpen: boolean;
}

/** Runs every fault of `test/fault`, and a caller who disconnects, through both gateways, and returns the tables as Markdown. */
export async function compareFaults(portkey: Portkey): Promise<string> {
  const stage = await setStage(TRIALS);
  const signalboxTrials = TRIALS.filter(({ gateway }) => gateway === 'Signalbox');
  const box = await startSignalbox({ policy: policyOf(signalboxTrials, stage), env: UPSTREAM_ENV });
  const peer = await portkey.start('Node');
  try {
    const addressOf = (trial: Trial) => address(trial, stage, box, peer);
    const results = new Map<Trial, Partial<Result>>();
    const left = new Map<Trial, number | null>();
    const work = async (queue: Iterable<Trial>) => {
      for (const trial of queue) {
        if (trial.fault === ENDLESS) left.set(trial, await leave(addressOf(trial), trial, () => isLeftOpen(trial)));
        else results.set(trial, await play(addressOf(trial), trial));
      }
    };
    const queue = TRIALS.filter((trial) => !isHeavy(trial)).values();
    await Promise.all(Array.from({ length: WORKERS }, () => work(queue)));
    await work(TRIALS.filter(isHeavy));
    if (!(await fetch(`http://127.0.0.1:${peer.port}/`)).ok) throw new Error('Portkey has ended');
    return report(results, left);
  } finally {
    await Promise.all([box.stop(), peer.stop(), stage.stop()]);
  }
}

function address(trial: Trial, stage: Stage, box: Signalbox, peer: Program): Address {
  if (trial.gateway === 'Signalbox') return { url: `${box.url}/v1`, key: box.key, headers: {} };
  const { deadlines } = trial.fault;
  const timeout = deadlines && { 'x-portkey-request-timeout': String(deadlines.totalMs) };
  const headers = { ...portkeyHeaders(stage.urlOf(trial)), ...timeout };
  return { url: `http://127.0.0.1:${peer.port}/v1`, key: UPSTREAM_KEY, headers };
}

async function play(to: Address, trial: Trial): Promise<Partial<Result>> {
  // A successful request goes first, so that there is a connection to reuse.
  if (trial.fault.warm) await read(to, trial);
  if (trial.caller === 'client') return { conclusion: await conclude(to, trial) };
  const since = performance.now();
  const saw = await read(to, trial);
  const ms = performance.now() - since;
  if (!trial.fault.deadlines) return { saw, ms, isLeftOpen: false };
  await Bun.sleep(1_000);
  return { saw, ms, isLeftOpen: isLeftOpen(trial) };
}

type Results = ReadonlyMap<Trial, Partial<Result>>;

function resultOf(results: Results, fault: Fault, form: Form, gateway: Gateway): Result {
  const whole = { saw: '', ms: 0, isLeftOpen: false, conclusion: { made: 'hung' } };
  const parts = TRIALS.filter((one) => one.fault === fault && one.form === form && one.gateway === gateway);
  return Object.assign(whole, ...parts.map((one) => results.get(one)));
}

const MADE: Readonly<Record<Exclude<Conclusion['made'], 'error'>, string>> = {
  answer: 'answer',
  silence: '**no error**',
  hung: '**waits**',
};

function cellOf({ saw, ms, conclusion, isLeftOpen }: Result): string {
  const made = conclusion.made === 'error' ? conclusion.what : MADE[conclusion.made];
  const isPlain = (saw === 'the answer' && made === 'answer') || made === `throws ${saw.slice(0, 3)}`;
  const told = isPlain ? saw : `${saw} → ${made}`;
  const slow = ms >= SLOW_MS && conclusion.made !== 'hung' ? `, ${(ms / 1_000).toFixed(1)} s` : '';
  return `${told}${slow}${isLeftOpen ? '; call left open' : ''}`;
}
/** A time that is longer than any fault takes that does not test deadlines, in ms. */
const SLOW_MS = 1_000;

const COLUMNS = FORMS.flatMap((form) => GATEWAYS.map((gateway) => ({ form, gateway })));
const nameOf = ({ form, gateway }: { form: Form; gateway: Gateway }): string =>
  `${gateway}, ${form === 'SSE' ? 'stream' : 'JSON'}`;

function report(results: Results, left: ReadonlyMap<Trial, number | null>): string {
  const of = (fault: Fault) => COLUMNS.map(({ form, gateway }) => resultOf(results, fault, form, gateway));
  const count = (made: Conclusion['made']) =>
    COLUMNS.map((_, at) => String(FAULTS.filter((fault) => of(fault)[at]!.conclusion.made === made).length));
  const sums = [
    [`of ${FAULTS.length} faults, the client`, ...COLUMNS.map(nameOf)],
    ['has the whole answer', ...count('answer')],
    ['throws an error', ...count('error')],
    ['ends without an error, with less or other than the answer', ...count('silence')],
    [`still waits after ${PATIENCE_MS / 1_000} s`, ...count('hung')],
  ];
  const leaves = COLUMNS.map(({ form, gateway }) => {
    const [, ms] = [...left].find(([trial]) => trial.form === form && trial.gateway === gateway) ?? [];
    return typeof ms === 'number'
      ? `ended within ${Math.max(10, Math.ceil(ms / 10) * 10)} ms`
      : `still open after ${LEAVE_MS / 1_000} s`;
  });
  const groups = GROUPS.map(({ title, faults }) => {
    const rows = faults.map((fault) => [`… ${fault.does}`, ...of(fault).map(cellOf)]);
    return `${title}:\n\n${table([['the upstream …', ...COLUMNS.map(nameOf)], ...rows], 'words')}`;
  });
  const leaving = table(
    [
      ['a caller leaves amid an answer', ...COLUMNS.map(nameOf)],
      ['the call upstream is', ...leaves],
    ],
    'words',
  );
  return [table(sums), leaving, ...groups].join('\n\n');
}
