import { useId, useRef } from 'preact/hooks';
import { Button } from '../../design/button.tsx';
import { EVEN, moved, placeOf, SHARE_NAMES, type ShareName, type Shares, sharesAt } from './shares.ts';

const LABELS: Readonly<Record<ShareName, string>> = { quality: 'Quality', cost: 'Cost', speed: 'Speed' };

interface DialsProps {
  /** The weights are null while the order of the selector decides. */
  readonly shares: Shares | null;
  /** Whether the request names one model, so that weights have no effect. */
  readonly isPinned: boolean;
  onShares(shares: Shares | null): void;
}

/** Sets the weights of quality, cost and speed with a triangle (pointer) or three linked sliders (keyboard). */
export function Dials({ shares, isPinned, onShares }: DialsProps) {
  const id = useId();
  const shown = shares ?? EVEN;
  return (
    <section class="stack-tight" aria-labelledby={id}>
      <div class="row row-apart">
        <h3 id={id}>Weights</h3>
        {shares && (
          <Button kind="plain" onClick={() => onShares(null)}>
            Use the selector’s weights
          </Button>
        )}
      </div>
      <p class="small dim playground-note">
        {isPinned
          ? 'Your request names a model, so weights have no effect.'
          : shares
            ? 'These weights replace the order of the selector.'
            : 'The order of the selector decides until you move these.'}
      </p>
      <div class={`playground-dials${shares ? '' : ' is-idle'}`}>
        <Triangle shares={shown} onShares={onShares} />
        <div class="stack-tight">
          {SHARE_NAMES.map((name) => (
            <Slider
              key={name}
              label={LABELS[name]}
              value={shown[name]}
              isStated={shares !== null}
              onValue={(value) => onShares(moved(shown, name, value))}
            />
          ))}
        </div>
      </div>
    </section>
  );
}

function Slider({
  label,
  value,
  isStated,
  onValue,
}: {
  readonly label: string;
  readonly value: number;
  readonly isStated: boolean;
  onValue(value: number): void;
}) {
  const id = useId();
  return (
    <div class="playground-slider">
      <label class="field-label" for={id}>
        {label}
      </label>
      <span class="figure small">{isStated ? `${value} %` : '–'}</span>
      <input
        id={id}
        type="range"
        min={0}
        max={100}
        value={value}
        aria-valuetext={isStated ? `${value} %` : 'left to the selector'}
        onInput={(event) => onValue(event.currentTarget.valueAsNumber)}
      />
    </div>
  );
}

const [WIDTH, HEIGHT, PAD, TEXT] = [120, 104, 12, 16];

/**
 * The weights as a point in a triangle: the closer the point is to a corner, the more the weight of that corner counts. The sliders are the
 * accessible alternative.
 */
function Triangle({ shares, onShares }: { readonly shares: Shares; onShares(shares: Shares): void }) {
  const box = useRef<SVGSVGElement>(null);
  const place = placeOf(shares);
  const take = (event: PointerEvent) => {
    const shown = box.current?.getBoundingClientRect();
    if (!shown || shown.width === 0) return;
    const scale = (WIDTH + 2 * PAD) / shown.width;
    onShares(
      sharesAt({
        x: ((event.clientX - shown.left) * scale - PAD) / WIDTH,
        y: ((event.clientY - shown.top) * scale - PAD - TEXT) / HEIGHT,
      }),
    );
  };
  return (
    <svg
      ref={box}
      class="playground-triangle"
      viewBox={`0 0 ${WIDTH + 2 * PAD} ${HEIGHT + 2 * PAD + 2 * TEXT}`}
      aria-hidden="true"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        take(event);
      }}
      onPointerMove={(event) => event.currentTarget.hasPointerCapture(event.pointerId) && take(event)}
    >
      <path d={`M${PAD + WIDTH / 2} ${PAD + TEXT}L${PAD + WIDTH} ${PAD + TEXT + HEIGHT}H${PAD}Z`} />
      <text x={PAD + WIDTH / 2} y={TEXT} text-anchor="middle">
        Quality
      </text>
      <text x={0} y={HEIGHT + 2 * TEXT + PAD + 4}>
        Cost
      </text>
      <text x={WIDTH + 2 * PAD} y={HEIGHT + 2 * TEXT + PAD + 4} text-anchor="end">
        Speed
      </text>
      <circle cx={PAD + place.x * WIDTH} cy={PAD + TEXT + place.y * HEIGHT} r={8} />
    </svg>
  );
}
