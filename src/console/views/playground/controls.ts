import { useEffect, useRef, useState } from 'preact/hooks';
import { type Params, param, setParams } from '../../shell/router.ts';
import { type Dialect, isDialect, type Terms } from './body.ts';
import { sharesIn, sharesText } from './shares.ts';

/** All of the playground that its address has. The prompt is not among it. */
export interface Controls extends Terms {
  readonly dialect: Dialect;
  /** ID of the key that sends; '' for the first. */
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

/** A browser refuses an address that changes with each step of a drag. */
const SETTLED_MS = 300;

/** The controls, written into the address once they rest, and read from it where a link or the way back changes it. */
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
