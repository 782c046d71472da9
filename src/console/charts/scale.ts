/** Steps of 1, 2 or 5 times a power of ten from zero to at least `max`. */
export function ticksTo(max: number, about = 4): readonly number[] {
  if (!(max > 0)) return [0, 1];
  const rough = max / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const count = Math.ceil(max / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12)));
}

/** Powers of ten, and their doubles and fives where they are few, around positive values. */
export function logTicks(min: number, max: number): readonly number[] {
  const [low, high] = [Math.floor(Math.log10(min)), Math.ceil(Math.log10(max))];
  const factors = high - low <= 2 ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let power = low; power <= high; power++) {
    for (const factor of factors) ticks.push(Number((factor * 10 ** power).toPrecision(12)));
  }
  return ticks.filter((tick) => tick >= min * 0.999 && tick <= max * 1.001);
}

/** Maps a domain to pixels. */
export const scaled =
  (from: number, to: number, start: number, end: number) =>
  (value: number): number =>
    to === from ? (start + end) / 2 : start + ((value - from) / (to - from)) * (end - start);
