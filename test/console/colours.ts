/** Measures the colours of the console. */
type Rgb = readonly [number, number, number];

const linear = (part: number): number => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);

/** @param hex `#rrggbb` */
const linearOf = (hex: string): Rgb => {
  const parts = [1, 3, 5].map((at) => linear(Number.parseInt(hex.slice(at, at + 2), 16) / 255));
  return [parts[0]!, parts[1]!, parts[2]!];
};

const luminance = ([red, green, blue]: Rgb): number => 0.2126 * red + 0.7152 * green + 0.0722 * blue;

/** The contrast of two colours as defined by WCAG, 1 to 21. */
export function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(linearOf(one)), luminance(linearOf(other))].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

/** The colours among the custom properties of a theme, by name without the dashes. */
export function tokensOf(css: string): Record<'light' | 'dark', Readonly<Record<string, string>>> {
  const [first = '', second = ''] = css.split(':root[data-theme="dark"]');
  const read = (text: string) =>
    Object.fromEntries([...text.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, hex]) => [name, hex!]));
  return { light: read(first), dark: read(second) };
}

/** Colours as people without one kind of cones see them, in linear RGB (Machado, Oliveira and Fernandes, 2009, severity 1). */
const EYES: readonly (readonly number[])[] = [
  [1, 0, 0, 0, 1, 0, 0, 0, 1],
  [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
];

const through = (eye: readonly number[], colour: Rgb): Rgb => {
  const part = (row: number) => colour.reduce((sum, value, at) => sum + value * eye[row * 3 + at]!, 0);
  return [part(0), part(1), part(2)];
};

/** OKLab coordinates times 100. */
function labOf([red, green, blue]: Rgb): Rgb {
  const l = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const m = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const s = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  return [
    100 * (0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s),
    100 * (1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s),
    100 * (0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s),
  ];
}

/**
 * The smallest distance of two colours for any of these kinds of eyes. Two colours with a distance of 2 can just be distinguished side by
 * side.
 */
export function hueDistance(one: string, other: string): number {
  const distances = EYES.map((eye) => {
    const [a, b] = [labOf(through(eye, linearOf(one))), labOf(through(eye, linearOf(other)))];
    return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
  });
  return Math.round(Math.min(...distances) * 10) / 10;
}
