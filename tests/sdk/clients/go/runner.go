// Makes SQS calls with an AWS SDK for Go; lines in and out as sdk_clients.py says. Which SDK is in
// the other file of the program: clientOf() and shown() there. The members are put into the SDK's
// own structures by reflection, so that its users' types are what is tried.

package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"
)

type request struct {
	ID       int
	Endpoint string
	Action   string
	Members  map[string]any
}

var (
	clientsLock sync.Mutex
	clients     = map[string]reflect.Value{}
	outputLock  sync.Mutex
)

func say(line map[string]any) {
	text, err := json.Marshal(line)
	if err != nil {
		text, _ = json.Marshal(map[string]any{"id": line["id"], "broken": err.Error()})
	}
	outputLock.Lock()
	defer outputLock.Unlock()
	os.Stdout.Write(append(text, '\n'))
}

func clientFor(endpoint string) reflect.Value {
	clientsLock.Lock()
	defer clientsLock.Unlock()
	if _, known := clients[endpoint]; !known {
		clients[endpoint] = reflect.ValueOf(clientOf(endpoint))
	}
	return clients[endpoint]
}

// {"$bytes": TEXT} becomes TEXT, which is how encoding/json reads a []byte.
func plainBytes(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if text, is := v["$bytes"]; is && len(v) == 1 {
			return text
		}
		for name, item := range v {
			v[name] = plainBytes(item)
		}
	case []any:
		for i, item := range v {
			v[i] = plainBytes(item)
		}
	}
	return value
}

func fieldOf(kind reflect.Type, member string) bool {
	_, known := kind.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, member) })
	return known
}

// What of the members the SDK has no field for, or "".
func lacking(action string, kind reflect.Type, members map[string]any) string {
	for member := range members {
		if !fieldOf(kind, member) {
			return action + "." + member
		}
	}
	return ""
}

// The output in the names of the API, without what is not set.
func plain(value reflect.Value) any {
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if value.IsNil() {
			return nil
		}
		return plain(value.Elem())
	case reflect.Struct:
		if when, is := value.Interface().(time.Time); is {
			return float64(when.UnixMilli()) / 1000
		}
		found := map[string]any{}
		for i := 0; i < value.NumField(); i++ {
			field := value.Type().Field(i)
			if !field.IsExported() || field.Name == "ResultMetadata" {
				continue
			}
			if inner := plain(value.Field(i)); inner != nil {
				found[field.Name] = inner
			}
		}
		return found
	case reflect.Map:
		found := map[string]any{}
		for _, key := range value.MapKeys() {
			found[key.String()] = plain(value.MapIndex(key))
		}
		if len(found) == 0 {
			return nil
		}
		return found
	case reflect.Slice:
		if value.Len() == 0 {
			return nil
		}
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return map[string]any{"$bytes": base64.StdEncoding.EncodeToString(value.Bytes())}
		}
		found := []any{}
		for i := 0; i < value.Len(); i++ {
			found = append(found, plain(value.Index(i)))
		}
		return found
	case reflect.String:
		return value.String()
	case reflect.Bool:
		return value.Bool()
	case reflect.Int, reflect.Int32, reflect.Int64:
		return value.Int()
	}
	return nil
}

func call(r request) (answer map[string]any) {
	defer func() {
		if trouble := recover(); trouble != nil {
			answer = map[string]any{"broken": fmt.Sprint(trouble)}
		}
	}()
	method := clientFor(r.Endpoint).MethodByName(methodPrefix(r.Action))
	if !method.IsValid() {
		return map[string]any{"lacks": r.Action}
	}
	kind := method.Type().In(1).Elem()
	if names, asked := r.Members["SystemAttributeNames"]; asked {
		delete(r.Members, "SystemAttributeNames")
		if fieldOf(kind, "MessageSystemAttributeNames") {
			r.Members["MessageSystemAttributeNames"] = names
		} else {
			r.Members["AttributeNames"] = names
		}
	}
	if what := lacking(r.Action, kind, r.Members); what != "" {
		return map[string]any{"lacks": what}
	}
	if what := unsaid(r.Action, r.Members); what != "" {
		return map[string]any{"lacks": what}
	}
	text, _ := json.Marshal(plainBytes(r.Members))
	input := reflect.New(kind)
	if err := json.Unmarshal(text, input.Interface()); err != nil {
		return map[string]any{"broken": err.Error()}
	}
	results := method.Call([]reflect.Value{reflect.ValueOf(context.Background()), input})
	if err, failed := results[1].Interface().(error); failed {
		if detail := shown(err); detail != nil {
			return map[string]any{"error": detail}
		}
		return map[string]any{"broken": err.Error()}
	}
	return map[string]any{"output": inNamesOfTheAPI(r.Action, plain(results[0]))}
}

// One member of the API begins with a small letter.
func inNamesOfTheAPI(action string, output any) any {
	members, is := output.(map[string]any)
	if urls, there := members["QueueUrls"]; is && there && action == "ListDeadLetterSourceQueues" {
		delete(members, "QueueUrls")
		members["queueUrls"] = urls
	}
	return output
}

func main() {
	say(map[string]any{"client": version()})
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			var r request
			if json.Unmarshal(line, &r) == nil {
				go func() {
					answer := call(r)
					answer["id"] = r.ID
					say(answer)
				}()
			}
		}
		if err == io.EOF {
			return
		}
	}
}
