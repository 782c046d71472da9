import { useEffect, useRef, useState } from 'preact/hooks';
import { amountToSend } from '../../design/amount.ts';
import { type Params, param, setParams } from '../../shell/router.ts';
import { type Dialect, isDialect, type Terms } from './body.ts';
import { sharesIn, sharesText } from './shares.ts';

/** The settings of the playground that its address contains. The address does not contain the prompt. */
export interface Controls extends Terms {
  readonly dialect: Dialect;
  /** The ID of the key that sends the request; '' for the first key. */
  readonly key: string;
}

const DEFAULT_MODEL = 'auto';

/** Reads an amount of the address, where a number without a unit is in Credits. A viewer types such a number for USD. */
function amountIn(name: string): string {
  const text = param(name);
  return /^[\d.,]+$/.test(text) ? `${text} Credits` : text;
}

function controlsIn(): Controls {
  const dialect = param('dialect');
  return {
    dialect: isDialect(dialect) ? dialect : 'chat',
    key: param('key'),
    model: param('model') || DEFAULT_MODEL,
    shares: sharesIn(param('weights')),
    costMax: amountIn('max_credits'),
    maxSeconds: param('max_seconds'),
    budget: amountIn('budget_credits'),
    isStreamed: param('stream') !== 'no',
  };
}

const paramsOf = (controls: Controls): Params => ({
  dialect: controls.dialect === 'chat' ? null : controls.dialect,
  key: controls.key,
  model: controls.model === DEFAULT_MODEL ? null : controls.model,
  weights: controls.shares && sharesText(controls.shares),
  max_credits: amountToSend(controls.costMax),
  max_seconds: controls.maxSeconds,
  budget_credits: amountToSend(controls.budget),
  stream: controls.isStreamed ? null : 'no',
});

const textOf = (controls: Controls): string => JSON.stringify(paramsOf(controls));

/**
 * How long the controls must stay unchanged before the address is updated, in ms. A browser limits how often a page may change its address.
 */
const SETTLED_MS = 300;

/**
 * The controls. The controls are written to the address when they have not changed for a moment, and read from the address when a link or
 * the Back button changes the address.
 */
export function useControls() {
  const [controls, setControls] = useState(controlsIn);
  const stated = controlsIn();
  const inAddress = textOf(stated);
  const written = useRef(inAddress);
  useEffect(() => {
    if (inAddress === written.current) return;
    written.current = inAddress;
    setControls(stated);
  }, [inAddress]);
  const text = textOf(controls);
  useEffect(() => {
    if (text === written.current) return;
    const timer = setTimeout(() => {
      written.current = text;
      setParams(paramsOf(controls));
    }, SETTLED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const change = (part: Partial<Controls>) => setControls((now) => ({ ...now, ...part }));
  return { controls, change };
}
