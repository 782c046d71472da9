import { useEffect, useRef, useState } from 'preact/hooks';
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

function controlsIn(): Controls {
  const dialect = param('dialect');
  return {
    dialect: isDialect(dialect) ? dialect : 'chat',
    key: param('key'),
    model: param('model') || DEFAULT_MODEL,
    shares: sharesIn(param('weights')),
    maxCredits: param('max_credits'),
    maxSeconds: param('max_seconds'),
    budgetCredits: param('budget_credits'),
    isStreamed: param('stream') !== 'no',
  };
}

const paramsOf = (controls: Controls): Params => ({
  dialect: controls.dialect === 'chat' ? null : controls.dialect,
  key: controls.key,
  model: controls.model === DEFAULT_MODEL ? null : controls.model,
  weights: controls.shares && sharesText(controls.shares),
  max_credits: controls.maxCredits,
  max_seconds: controls.maxSeconds,
  budget_credits: controls.budgetCredits,
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
