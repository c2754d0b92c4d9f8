package config

import "reflect"

// minHidden is how long a secret must be to be found in other texts: a shorter one would
// be found in words that have nothing to do with it.
const minHidden = 6

// Secrets are the secrets that c has, also in arguments of programs and in addresses, of at
// least six bytes, in any order.
func (c *Config) Secrets() (all []string) {
	keep := func(texts ...string) {
		for _, text := range texts {
			if len(text) >= minHidden {
				all = append(all, text)
			}
		}
	}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			if program, is := v.Interface().(Program); is {
				keep(program.Secrets()...)
				return
			}
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.String:
			if address, is := v.Interface().(Address); is {
				keep(address.Secrets()...)
			}
		case reflect.Map:
			for _, key := range v.MapKeys() {
				walk(v.MapIndex(key))
			}
		case reflect.Struct:
			if v.Type() == secretType {
				keep(v.Interface().(Secret).Reveal())
				return
			}
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					walk(v.Field(i))
				}
			}
		}
	}
	walk(reflect.ValueOf(c))
	return all
}
