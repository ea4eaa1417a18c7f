/**
 * The objects that tuples are: `[string, number]` is a class of two fields. To clients and in storage a tuple is an array.
 * Internal: the build makes and reads them.
 */
import { Reader, Writer, decodeValue, encodeValue, zeroValue } from "./codec";

// @ts-ignore: decorator
@global
export class __radicalTuple1<A> {
  item0: A;

  __radicalEncode(writer: Writer): void {
    writer.array(1);
    encodeValue<A>(writer, this.item0);
  }

  __radicalDecode(reader: Reader): void {
    reader.tuple(1);
    this.item0 = decodeValue<A>(reader);
  }

  __radicalInitialize(): void {
    this.item0 = zeroValue<A>();
  }
}

// @ts-ignore: decorator
@global
export class __radicalTuple2<A, B> {
  item0: A;
  item1: B;

  __radicalEncode(writer: Writer): void {
    writer.array(2);
    encodeValue<A>(writer, this.item0);
    encodeValue<B>(writer, this.item1);
  }

  __radicalDecode(reader: Reader): void {
    reader.tuple(2);
    this.item0 = decodeValue<A>(reader);
    this.item1 = decodeValue<B>(reader);
  }

  __radicalInitialize(): void {
    this.item0 = zeroValue<A>();
    this.item1 = zeroValue<B>();
  }
}

// @ts-ignore: decorator
@global
export class __radicalTuple3<A, B, C> {
  item0: A;
  item1: B;
  item2: C;

  __radicalEncode(writer: Writer): void {
    writer.array(3);
    encodeValue<A>(writer, this.item0);
    encodeValue<B>(writer, this.item1);
    encodeValue<C>(writer, this.item2);
  }

  __radicalDecode(reader: Reader): void {
    reader.tuple(3);
    this.item0 = decodeValue<A>(reader);
    this.item1 = decodeValue<B>(reader);
    this.item2 = decodeValue<C>(reader);
  }

  __radicalInitialize(): void {
    this.item0 = zeroValue<A>();
    this.item1 = zeroValue<B>();
    this.item2 = zeroValue<C>();
  }
}

// @ts-ignore: decorator
@global
export class __radicalTuple4<A, B, C, D> {
  item0: A;
  item1: B;
  item2: C;
  item3: D;

  __radicalEncode(writer: Writer): void {
    writer.array(4);
    encodeValue<A>(writer, this.item0);
    encodeValue<B>(writer, this.item1);
    encodeValue<C>(writer, this.item2);
    encodeValue<D>(writer, this.item3);
  }

  __radicalDecode(reader: Reader): void {
    reader.tuple(4);
    this.item0 = decodeValue<A>(reader);
    this.item1 = decodeValue<B>(reader);
    this.item2 = decodeValue<C>(reader);
    this.item3 = decodeValue<D>(reader);
  }

  __radicalInitialize(): void {
    this.item0 = zeroValue<A>();
    this.item1 = zeroValue<B>();
    this.item2 = zeroValue<C>();
    this.item3 = zeroValue<D>();
  }
}

// @ts-ignore: decorator
@global
export class __radicalTuple5<A, B, C, D, E> {
  item0: A;
  item1: B;
  item2: C;
  item3: D;
  item4: E;

  __radicalEncode(writer: Writer): void {
    writer.array(5);
    encodeValue<A>(writer, this.item0);
    encodeValue<B>(writer, this.item1);
    encodeValue<C>(writer, this.item2);
    encodeValue<D>(writer, this.item3);
    encodeValue<E>(writer, this.item4);
  }

  __radicalDecode(reader: Reader): void {
    reader.tuple(5);
    this.item0 = decodeValue<A>(reader);
    this.item1 = decodeValue<B>(reader);
    this.item2 = decodeValue<C>(reader);
    this.item3 = decodeValue<D>(reader);
    this.item4 = decodeValue<E>(reader);
  }

  __radicalInitialize(): void {
    this.item0 = zeroValue<A>();
    this.item1 = zeroValue<B>();
    this.item2 = zeroValue<C>();
    this.item3 = zeroValue<D>();
    this.item4 = zeroValue<E>();
  }
}

// @ts-ignore: decorator
@global
export class __radicalTuple6<A, B, C, D, E, F> {
  item0: A;
  item1: B;
  item2: C;
  item3: D;
  item4: E;
  item5: F;

  __radicalEncode(writer: Writer): void {
    writer.array(6);
    encodeValue<A>(writer, this.item0);
    encodeValue<B>(writer, this.item1);
    encodeValue<C>(writer, this.item2);
    encodeValue<D>(writer, this.item3);
    encodeValue<E>(writer, this.item4);
    encodeValue<F>(writer, this.item5);
  }

  __radicalDecode(reader: Reader): void {
    reader.tuple(6);
    this.item0 = decodeValue<A>(reader);
    this.item1 = decodeValue<B>(reader);
    this.item2 = decodeValue<C>(reader);
    this.item3 = decodeValue<D>(reader);
    this.item4 = decodeValue<E>(reader);
    this.item5 = decodeValue<F>(reader);
  }

  __radicalInitialize(): void {
    this.item0 = zeroValue<A>();
    this.item1 = zeroValue<B>();
    this.item2 = zeroValue<C>();
    this.item3 = zeroValue<D>();
    this.item4 = zeroValue<E>();
    this.item5 = zeroValue<F>();
  }
}
