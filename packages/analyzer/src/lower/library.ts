/**
 * The effects of the members of AssemblyScript's library on the heap. The library itself works on raw memory and is never
 * analyzed. A member without an entry here is refused, never guessed.
 *
 * A container has one content: elements, keys, values and length together. Views (`Uint8Array.wrap`, `subarray`,
 * `DataView`) are the same object as the buffer they look at. Strings and numbers have no content.
 */

export interface LibraryMember {
  /** Class of the member; "" for functions of the language. */
  readonly owner: string;
  /** As in source; "[]" for the element, "new" for the constructor. */
  readonly name: string;
  readonly form: "method" | "property" | "element" | "function" | "constructor";
  /** The receiver's content decides the result or the new content. */
  readonly reads: boolean;
  readonly writes: boolean;
  /** Containers among the arguments are read. */
  readonly readsArguments: boolean;
  /** References among the arguments (not callbacks) become elements of the receiver. */
  readonly storesArguments: boolean;
  readonly result: LibraryResult;
  /** For each parameter of the callback what it is given. */
  readonly callback: readonly CallbackParameter[] | null;
  /** The module of the SDK that exports it; null: it is AssemblyScript's. */
  readonly module: string | null;
}

/**
 * `plain`: a number, a string, nothing. `element`: one of the receiver's elements. `copy`: a new container with the
 * elements of the receiver and of container arguments. `mapped`: a new container with what the callback returns.
 * `accumulator`: the callback's last result or the second argument. `argument`: the first argument itself.
 */
export type LibraryResult =
  | "plain"
  | "element"
  | "copy"
  /** A new container with the elements of the receiver's elements. */
  | "flattened"
  | "receiver"
  | "mapped"
  | "accumulator"
  | "argument"
  /** One of the arguments. */
  | "any-argument";
export type CallbackParameter = "accumulator" | "element" | "plain" | "receiver";

type Traits = Partial<Omit<LibraryMember, "owner" | "name">>;

/** The module that handlers import. */
export const SDK = "@radical/sdk";

/** Functions of the SDK that hash a password: dear on purpose, so that no read/write-set function runs them. */
const PASSWORD_FUNCTIONS: ReadonlySet<string> = new Set(["hashPassword", "verifyPassword"]);

export function hashesPassword({ module, name }: LibraryMember): boolean {
  return module === SDK && PASSWORD_FUNCTIONS.has(name);
}

/** Whether it gives the id of a task, which no read/write-set function knows. */
export function givesTaskId({ module, name }: LibraryMember): boolean {
  return module === `${SDK}/tasks` && name === "enqueueTask";
}

const PURE: Traits = { result: "plain" };
const READ: Traits = { reads: true, result: "plain" };
const COPY: Traits = { reads: true, readsArguments: true, result: "copy" };
const ITERATION: readonly CallbackParameter[] = ["element", "plain", "receiver"];

const members = new Map<string, LibraryMember>();

function define(owners: string, names: string, traits: Traits): void {
  for (const owner of owners.split(" ")) {
    for (const name of names.split(" ")) {
      members.set(`${owner === "-" ? "" : owner}.${name}`, {
        form: "method",
        reads: false,
        writes: false,
        readsArguments: false,
        storesArguments: false,
        result: "plain",
        callback: null,
        module: null,
        ...traits,
        owner: owner === "-" ? "" : owner,
        name,
      });
    }
  }
}

const TYPED_ARRAYS =
  "Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Int64Array Uint64Array Float32Array Float64Array";
const INDEXED = `Array StaticArray ${TYPED_ARRAYS}`;

// Strings and numbers.
define(
  "String",
  "charAt charCodeAt codePointAt at concat endsWith startsWith includes indexOf lastIndexOf localeCompare padEnd padStart repeat replace replaceAll slice substr substring toLowerCase toUpperCase trim trimEnd trimStart trimLeft trimRight toString == != < > <= >= + [] isWellFormed",
  PURE,
);
define("String", "split", { result: "copy" });
define("String", "[]", { form: "element" });
define("String", "length", { form: "property" });
define("String", "fromCharCode fromCharCodes fromCodePoint", { form: "function", readsArguments: true });
define("UTF8 UTF16", "byteLength", { form: "function" });
define("UTF8 UTF16", "encode", { form: "function", result: "copy" });
define("UTF8 UTF16", "decode", { form: "function", readsArguments: true });
define("Bool I8 U8 I16 U16 I32 U32 I64 U64 Isize Usize F32 F64", "toString", PURE);
define("Bool I8 U8 I16 U16 I32 U32 I64 U64 Isize Usize F32 F64", "parse", { form: "function" });
define("bool i8 u8 i16 u16 i32 u32 i64 u64 isize usize f32 f64", "parse", { form: "function" });
define("i32 i64", "clz ctz popcnt add sub mul div_s div_u rem_s rem_u rotl rotr eq ne", { form: "function" });
define("f32 f64", "abs ceil floor max min nearest sqrt trunc add sub mul div eq ne", { form: "function" });
define("Object", "is", { form: "function" });
define("F32 F64", "isNaN isFinite isInteger isSafeInteger parseInt parseFloat", { form: "function" });
define("I8 U8 I16 U16 I32 U32 I64 U64 Isize Usize", "parseInt", { form: "function" });
define(
  "NativeMath NativeMathf",
  "abs acos acosh asin asinh atan atan2 atanh cbrt ceil clz32 cos cosh exp exp2 expm1 floor fround hypot imul log log10 log1p log2 max min mod pow rem round scalbn sign sin sinh sqrt tan tanh trunc",
  { form: "function" },
);
define(
  "-",
  "abs add and ceil clz ctz div eq eqz floor ge gt isFinite isNaN le lt max min mul nearest ne or parseFloat parseInt popcnt rem rotl rotr shl shr shru sqrt sub trunc xor bswap sizeof isBoolean isInteger isSigned isFloat isString isReference isManaged isArray isArrayLike isFunction isVector isVoid isNullable lengthof ipow32 ipow64 i8 u8 i16 u16 i32 u32 i64 u64 isize usize bool f32 f64 encodeURI encodeURIComponent decodeURI decodeURIComponent",
  { form: "function" },
);

// Of the SDK. A range is a view of its table, which `scan` reads. A line that is logged has no effect on what comes behind it.
define("Table", "all prefix range", { result: "receiver" });
define("Range", "after before", { result: "receiver" });
define("-", "log parseTime ascending descending needsRehash sha256", { form: "function", module: SDK });
define("-", [...PASSWORD_FUNCTIONS].join(" "), { form: "function", module: SDK });
define("log", "debug warn error", { form: "function", module: SDK });
define("-", "entryPart", { form: "function", module: `${SDK}/indexes` });
define("-", "toFixed numberOf", { form: "function", module: `${SDK}/decimals` });
define("-", "quoted jsonOfFloat", { form: "function", module: `${SDK}/json` });
// They have no effect on storage that is known before the commit. The key of a task is said apart.
define("-", "beginTask taskArgument enqueueTask cancelTask", { form: "function", module: `${SDK}/tasks` });
define("-", "sendSignal", { form: "function", module: `${SDK}/workflows` });
define("-", "cancel", { form: "function", module: SDK });
define("-", "assert", { form: "function", result: "argument" });
define("-", "select", { form: "function", result: "any-argument" });

// Containers.
define(INDEXED, "[]", { form: "element", ...READ, result: "element" });
define(INDEXED, "at", { ...READ, result: "element" });
define(INDEXED, "length", { form: "property", ...READ });
define(INDEXED, "includes indexOf lastIndexOf join toString", READ);
define(INDEXED, "fill", { reads: true, writes: true, storesArguments: true, result: "receiver" });
define(INDEXED, "reverse copyWithin", { reads: true, writes: true, result: "receiver" });
// variant: library-sort
define(INDEXED, "sort", { reads: true, writes: true, result: "receiver", callback: ["element", "element"] });
define(INDEXED, "slice", COPY);
define("Array StaticArray", "concat", COPY);
// variant: library-push
define("Array", "push unshift", { reads: true, writes: true, storesArguments: true, result: "plain" });
define("Array", "pop shift", { reads: true, writes: true, result: "element" });
define("Array", "splice", { reads: true, writes: true, result: "copy" });
define("Array", "length=", { form: "property", reads: true, writes: true });
define("Array", "isArray", { form: "function" });
define("Array", "flat", { reads: true, result: "flattened" });
define("Array", "new", { form: "constructor", result: "copy" });
define("StaticArray", "new", { form: "constructor", result: "copy" });
define("ArrayBuffer DataView Map Set", "toString", PURE);
define("Map", "[]", { form: "element", ...READ, result: "element" });
define("StaticArray", "fromArray", { form: "function", ...COPY });
define(INDEXED, "forEach", { reads: true, callback: ITERATION });
define(INDEXED, "some every findIndex findLastIndex", { reads: true, callback: ITERATION });
define(INDEXED, "filter", { reads: true, result: "copy", callback: ITERATION });
define(INDEXED, "map", { reads: true, result: "mapped", callback: ITERATION });
define(INDEXED, "reduce reduceRight", { reads: true, result: "accumulator", callback: ["accumulator", ...ITERATION] });
define("Map", "get", { ...READ, result: "element" });
define("Map Set", "has", READ);
// variant: library-set
define("Map", "set", { reads: true, writes: true, storesArguments: true, result: "receiver" });
define("Set", "add", { reads: true, writes: true, storesArguments: true, result: "receiver" });
define("Map Set", "delete", { reads: true, writes: true });
define("Map Set", "clear", { reads: true, writes: true });
define("Map Set", "size", { form: "property", ...READ });
// variant: library-keys
define("Map", "keys", COPY);
define("Map Set", "values", COPY);
define("Map Set", "new", { form: "constructor", result: "copy" });

// Bytes.
define(TYPED_ARRAYS, "new", { form: "constructor", result: "copy" });
// variant: library-subarray
define(TYPED_ARRAYS, "subarray", { reads: true, result: "receiver" });
define(TYPED_ARRAYS, "set", { reads: true, writes: true, readsArguments: true });
// variant: library-wrap
define(TYPED_ARRAYS, "wrap", { form: "function", result: "argument" });
define(TYPED_ARRAYS, "buffer", { form: "property", reads: true, result: "receiver" });
define(`${TYPED_ARRAYS} ArrayBuffer DataView`, "byteLength byteOffset", { form: "property", ...READ });
define("ArrayBuffer", "new", { form: "constructor", result: "copy" });
define("ArrayBuffer", "slice", COPY);
define("ArrayBuffer", "isView", { form: "function" });
define("DataView", "new", { form: "constructor", result: "argument" });
define("DataView", "buffer", { form: "property", reads: true, result: "receiver" });
for (const kind of ["Float32", "Float64", "Int8", "Int16", "Int32", "Int64", "Uint8", "Uint16", "Uint32", "Uint64"]) {
  define("DataView", `get${kind}`, READ);
  define("DataView", `set${kind}`, { reads: true, writes: true });
}

// Objects with a state of their own, which is their content here.
const ERRORS = "Error RangeError TypeError SyntaxError URIError";
define("Date", "new", { form: "constructor", result: "copy" });
define("Date", "fromString parse", { form: "function", result: "copy" });
define("Date", "UTC", { form: "function" });
for (const part of ["FullYear", "Month", "Date", "Hours", "Minutes", "Seconds", "Milliseconds"]) {
  define("Date", `getUTC${part}`, READ);
  define("Date", `setUTC${part}`, { reads: true, writes: true });
}
define("Date", "getUTCDay getTime toISOString toUTCString toDateString toTimeString toString", READ);
define("Date", "setTime", { reads: true, writes: true });
define(ERRORS, "new", { form: "constructor", result: "copy" });
define(ERRORS, "toString", READ);

/** Library classes with a content. */
export const CONTAINERS: ReadonlySet<string> = new Set(
  `${INDEXED} Map Set ArrayBuffer DataView Date ${ERRORS}`.split(" "),
);

const MEMORY = "it works on raw memory";
const BITS = "bits of floats differ between machines";
const LAYOUT = "it tells how classes are named and laid out, which is different in a read/write-set function";
const COMPILE_TIME = "it is a question about the source, which is another in a read/write-set function";
const VECTORS = "it is a vector instruction";
const HOST = "what it gives is not the same in every run";

/** Members without an entry on purpose, with the reasons: `owner.*` for whole classes and namespaces. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ...entries(
    "Atomics.* atomic.* memory.* memory.atomic.* heap.* table.* inline.* i32.atomic.* i64.atomic.* i32.atomic.rmw.* i32.atomic.rmw8.* i32.atomic.rmw16.* i64.atomic.rmw.* i64.atomic.rmw8.* i64.atomic.rmw16.* i64.atomic.rmw32.* i31.*",
    MEMORY,
  ),
  ...entries("v128.* i8x16.* i16x8.* i32x4.* i64x2.* f32x4.* f64x2.*", VECTORS),
  ...entries(".v128 .i8x16 .i16x8 .i32x4 .i64x2 .f32x4 .f64x2", VECTORS),
  ...entries(
    ".load .store .unchecked .unreachable .changetype .call_indirect .__data_end .__stack_pointer .__heap_base .__rtti_base .__visit_globals .__visit_members .__typeinfo .__newBuffer .__newArray UTF8.encodeUnsafe UTF8.decodeUnsafe UTF16.encodeUnsafe UTF16.decodeUnsafe Array.create",
    MEMORY,
  ),
  ...entries(
    "i32.load8_s i32.load8_u i32.load16_s i32.load16_u i32.load i32.store8 i32.store16 i32.store i64.load8_s i64.load8_u i64.load16_s i64.load16_u i64.load32_s i64.load32_u i64.load i64.store8 i64.store16 i64.store32 i64.store f32.load f32.store f64.load f64.store",
    MEMORY,
  ),
  ...entries(
    ".reinterpret .copysign i32.reinterpret_f32 i64.reinterpret_f64 f32.reinterpret_i32 f64.reinterpret_i64 f32.copysign f64.copysign NativeMath.signbit NativeMathf.signbit",
    BITS,
  ),
  ...entries(".alignof .offsetof .idof .nameof .instantiate", LAYOUT),
  ...entries(".isConstant .isDefined .ERROR .WARNING .INFO", COMPILE_TIME),
  ...entries(
    "console.* crypto.* performance.* process.* Date.now NativeMath.random NativeMath.seedRandom NativeMathf.random NativeMathf.seedRandom .trace .seed",
    HOST,
  ),
  ...entries("NativeMath.sincos NativeMathf.sincos", "it has two results, in variables of the library"),
  ...entries("RegExp.*", "there are no regular expressions"),
  ...entries("Function.*", "functions are called by their name or a variable, as f(x)"),
  ...entries("Iterator.* IteratorResult.*", "there are no iterators: use keys() and values(), which are arrays"),
  ...entries(".Symbol Symbol.* _Symbol.*", "there are no computed names"),
  ...entries("String.raw TemplateStringsArray.*", "there are no tags of templates"),
  ...entries("ArrayBufferView.*", "it is known of the typed arrays and DataView"),
  ...entries(
    "Error.name Error.message Error.stack",
    "errors end the execution: give their text to abort(), which answers with it",
  ),
  ...entries("Set.[]", "use has()"),
  ...entries("Range.new Row.new", "a table makes its ranges, and a range its rows"),
]);

function entries(names: string, reason: string): (readonly [string, string])[] {
  return names.split(" ").map((name) => [name, reason]);
}

/** The reason why a member has no model; null: nobody thought of it. */
export function refusedMember(owner: string, name: string): string | null {
  return REFUSED.get(`${owner}.${name}`) ?? REFUSED.get(`${owner}.*`) ?? null;
}

/** Names of the language that a source file uses without declaring them. */
export const LIBRARY_NAMES: ReadonlySet<string> = new Set([
  ...CONTAINERS,
  ..."Table Counter StoredEntries now caller random uuid randomAt uuidAt touchLane abort String Math Mathf Error NaN Infinity unchecked".split(
    " ",
  ),
  ..."bool i8 u8 i16 u16 i32 u32 i64 u64 isize usize f32 f64 string".split(" "),
  ...[...members.values()].flatMap((member) => (member.owner === "" && member.module === null ? [member.name] : [])),
]);

/** Each reason why members have no model. */
export function refusalReasons(): ReadonlySet<string> {
  return new Set(REFUSED.values());
}

export function libraryMember(owner: string, name: string): LibraryMember | null {
  return members.get(`${owner}.${name}`) ?? null;
}
