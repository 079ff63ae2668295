[(class_declaration name: (type_identifier) @name) (abstract_class_declaration name: (type_identifier) @name)] @class
(interface_declaration name: (type_identifier) @name) @interface
(type_alias_declaration name: (type_identifier) @name) @type
(enum_declaration name: (identifier) @name) @enum
[(internal_module name: (identifier) @name) (module name: (identifier) @name)] @module
(function_signature name: (identifier) @name) @function
[(method_signature name: (property_identifier) @name)
 (abstract_method_signature name: (property_identifier) @name)] @method
(public_field_definition name: (property_identifier) @name value: (arrow_function)) @method
